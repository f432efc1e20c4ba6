"""Compiles, opens and runs models."""

from __future__ import annotations

import json
import shutil
import sys
import sysconfig
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from strait_compiler import _modules, _samples, _strait, _toml
from strait_compiler._report import Report
from strait_compiler._samples import Array
from strait_compiler._watch import Watch

_REPORT = "report.json"

_PROGRAM = Path(sysconfig.get_path("scripts")) / ("strait.exe" if sys.platform == "win32" else "strait")
_strait.program(str(_PROGRAM))


def targets() -> list[str]:
    """The ids of the targets that are part of this package."""
    return _strait.targets()


class Built:
    """A compiled model: an artifact in a folder, ready to run."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self._folder = folder
        self._artifact = _strait.Artifact.open(str(folder))
        self._threads = threads
        self._session = self._artifact.session(threads, False)
        # Prepared when it is first asked for.
        self._codes: _strait.Session | None = None
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
        self._digest = str(manifest.get("digest", ""))
        self._ports: dict[str, Any] = manifest.get("ports", {})
        # A temporary folder is kept as long as one of its artifacts.
        self._holder: object | None = None

    @property
    def folder(self) -> Path:
        """The folder of the artifact."""
        return self._folder

    @property
    def target(self) -> str:
        """Id of the target."""
        return self._artifact.target

    @property
    def digest(self) -> str:
        """The digest that identifies the artifact."""
        return self._digest

    @property
    def report(self) -> Report:
        """The report of the compilation."""
        return Report.parse((self._folder / _REPORT).read_text("utf-8"))

    @property
    def tail(self) -> Path | None:
        """The float ONNX file of what lies behind the cut, for a model that was compiled with ``tail = "onnx"``.

        :meth:`run` runs it behind the integer model. It reads the outputs of the integer model as real numbers: what
        :meth:`codes` gives, with the scales and zero points of :attr:`grids`.
        """
        file = self._folder / "tail.onnx"
        return file if file.exists() else None

    @property
    def inputs(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Type and shape of each input."""
        return {name: (dtype, tuple(shape)) for name, dtype, shape in self._session.inputs()}

    @property
    def outputs(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Type and shape of each output of :meth:`run`. An extent that depends on the data is 0."""
        return {name: (dtype, tuple(shape)) for name, dtype, shape in self._session.outputs()}

    @property
    def grids(self) -> dict[str, tuple[float, int]]:
        """Scale and zero point of the codes at each output of the integer model: real = scale * (code - zero point)."""
        found: dict[str, tuple[float, int]] = {}
        for port in self._ports.get("outputs", []):
            codes = port.get("codes", port)
            if "scale" in codes:
                found[port["name"]] = (float(codes["scale"]), int(codes["zero_point"]))
        return found

    def run(self, x: Any = None, /, **inputs: Any) -> dict[str, Array]:
        """Runs the model. If it was cut and compiled with ``tail = "onnx"``, what lies behind the cut runs, too, in float, and
        the outputs are those of the whole model.

        ``x`` is an array for the only input, or a dict of arrays by the names of the inputs. An array with the shape of
        the input is one sample. If the model takes one sample at a time, an array may have more samples along its first
        axis, and the outputs then have them, too.
        """
        return self._on(self._session, x, inputs)

    def codes(self, x: Any = None, /, **inputs: Any) -> dict[str, Array]:
        """Runs the integer model alone, and gives the integers at its outputs, as ``strait run --raw`` does.

        They are what a device computes; :attr:`grids` has their scales. An output that is no codes is given as it is. The
        arguments are those of :meth:`run`.
        """
        if self._codes is None:
            self._codes = self._artifact.session(self._threads, True)
        return self._on(self._codes, x, inputs)

    def _on(self, session: _strait.Session, x: Any, inputs: dict[str, Any]) -> dict[str, Array]:
        ports = session.inputs()
        if x is not None:
            given = dict(x) if isinstance(x, Mapping) else {ports[0][0]: x}
            inputs = {**given, **inputs}
        arrays: dict[str, Array] = {}
        counts: set[int] = set()
        shapes = {name: (np.dtype(dtype), tuple(shape)) for name, dtype, shape in ports}
        for name, item in inputs.items():
            if name not in shapes:
                raise ValueError(f"the model has no input {name!r}; its inputs are {', '.join(map(repr, shapes))}")
            dtype, shape = shapes[name]
            part = _samples.array(item)
            if not np.can_cast(part.dtype, dtype, casting="same_kind"):
                raise TypeError(f"the input {name!r} takes {dtype}, not {part.dtype}")
            part = np.ascontiguousarray(part, dtype=dtype)
            if part.shape == shape[1:] and shape[:1] == (1,):
                part = part.reshape(shape)
            elif part.shape[1:] == shape[1:] and part.ndim == len(shape) and shape[:1] == (1,):
                counts.add(len(part))
            elif part.shape != shape:
                raise ValueError(f"the input {name!r} has the shape {list(shape)}, not {list(part.shape)}")
            arrays[name] = part
        if len(counts) > 1:
            raise ValueError(f"the inputs have different numbers of samples: {sorted(counts)}")
        count = counts.pop() if counts else 1
        if count == 1:
            return self._run(session, arrays)
        runs = [self._run(session, {name: part[at : at + 1] for name, part in arrays.items()}) for at in range(count)]
        return {name: np.concatenate([run[name] for run in runs]) for name in runs[0]} if runs else {}

    def _run(self, session: _strait.Session, arrays: dict[str, Array]) -> dict[str, Array]:
        """Runs one sample. The native part sees booleans as bytes."""
        given = {name: part.view(np.uint8) if part.dtype == np.bool_ else part for name, part in arrays.items()}
        made = session.run(given)
        types = {name: np.dtype(dtype) for name, dtype, _ in session.outputs()}
        return {name: part.view(np.bool_) if types.get(name) == np.bool_ else part for name, part in made.items()}

    def write(self, folder: str | PathLike[str]) -> Path:
        """Copies the artifact to a folder, which must not exist."""
        return Path(shutil.copytree(self._folder, folder))

    def __repr__(self) -> str:
        return f"<Built for {self.target}, {self.digest[:12]}>"


def open(folder: str | PathLike[str], *, threads: int | None = None) -> Built:
    """Opens an artifact."""
    return Built(Path(folder), threads)


class _Task:
    """A configuration with the files that it names, in a temporary folder."""

    def __init__(
        self,
        model: Any,
        samples: Any,
        targets: Sequence[str],
        rules: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        options: Mapping[str, Any],
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="strait-"))
        try:
            path = self.folder / "model"
            if _modules.is_module(model):
                samples = _modules.export(model, samples, path)
            else:
                path = self._model(model, path)
            tables: dict[str, Any] = {"schema": 1}
            tables["model"] = {"file": path, **dict(options.get("model", {}))}
            tables["target"] = {"use": list(targets), **dict(options.get("target", {}))}
            if rules is not None:
                tables["quantize"] = dict(rules) if isinstance(rules, Mapping) else {"rule": list(rules)}
            calibration = dict(options.get("calibration", {}))
            if samples is not None:
                calibration["data"] = self._samples(samples, tables)
            calibration.setdefault("cache", self.folder / "cache")
            tables["calibration"] = calibration
            tables["output"] = {"dir": (self.folder / "{target}").as_posix(), **dict(options.get("output", {}))}
            named = ("model", "target", "calibration", "output")
            tables.update({name: own for name, own in options.items() if name not in named})
            self.text = _toml.document(tables)
        except BaseException:
            self.remove()
            raise

    def _model(self, model: Any, path: Path) -> Path:
        if isinstance(model, (str, PathLike)):
            return Path(fspath(model)).absolute()
        content = model.SerializeToString() if hasattr(model, "SerializeToString") else model
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise TypeError(f"a model is a path, bytes, an onnx.ModelProto or a torch.nn.Module, not {type(model).__name__}")
        path.write_bytes(content)
        return path

    def _samples(self, samples: Any, tables: Mapping[str, Any]) -> str | Path:
        if isinstance(samples, str) and samples.startswith("random:"):
            return samples
        if isinstance(samples, (str, PathLike)):
            return Path(fspath(samples)).absolute()
        place = self.folder / "samples"
        place.mkdir()
        return _samples.write(samples, place, self._names(tables))

    def _names(self, tables: Mapping[str, Any]) -> list[str]:
        """The names of the inputs, from the compiler."""
        return _strait.inputs(_toml.document({**tables, "calibration": {"data": "random:1"}, "output": {"dir": "{target}"}}), str(self.folder))

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def compile(
    model: Any,
    /,
    samples: Any,
    target: str | Sequence[str] | Mapping[str, Any] = "generic-int8",
    *,
    rules: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    out: str | PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool = True,
    **options: Any,
) -> Any:
    """Compiles a model for one target, or for several.

    ``model`` is a path, the bytes of a file, an ``onnx.ModelProto``, or a ``torch.nn.Module``, which PyTorch's own exporter
    writes for the shapes of the first sample. ``samples`` are an array with the samples along its
    first axis, a dict of such arrays by the names of inputs, an iterable of batches such as a ``DataLoader``, a path as in
    a configuration, or ``"random:N"``. ``target`` is the id of a target, a list of ids, or the table ``[target]`` of a
    configuration as a dict. ``rules`` is the table ``[quantize]``, or a list of its rules. Other tables are keyword arguments:
    ``optimize={"preset": "quick"}``, ``model={"outputs": ["/head/Conv_output_0"], "tail": "onnx"}``, or
    ``input={"x": {"device": {"type": "uint8", "layout": "NHWC"}, "embed": "all"}}``.

    Returns a :class:`Built` for one target, and a dict by the ids of the targets for a list of them. The artifact is in
    ``out``, whose ``{target}`` is replaced by the id, or in a temporary folder that is removed with the result.
    """
    several = not isinstance(target, str)
    wanted, further = _targets(target)
    if further:
        options["target"] = further
    output = dict(options.pop("output", {}))
    if out is not None:
        output["dir"] = Path(fspath(out)).absolute().as_posix()
    task = _Task(model, samples, wanted, rules, {**options, "output": output})
    try:
        written = _strait.compile(task.text, str(task.folder), threads, Watch(progress))
        built = {own: Built(Path(folder), threads) for own, folder, _, _ in written}
    except BaseException:
        task.remove()
        raise
    if out is None:
        holder = _Folder(task.folder)
        for one in built.values():
            one._holder = holder
    else:
        task.remove()
    return built if several else built[wanted[0]]


class _Folder:
    """A temporary folder that is removed when nothing refers to it any more."""

    def __init__(self, folder: Path) -> None:
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


def _targets(target: str | Sequence[str] | Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The ids of the targets, and the other keys of the table."""
    if isinstance(target, Mapping):
        further = {key: value for key, value in target.items() if key != "use"}
        return _targets(target.get("use", []))[0], further
    return [target] if isinstance(target, str) else list(target), {}


def analyze(
    model: Any,
    /,
    samples: Any,
    target: str = "generic-int8",
    *,
    rules: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    threads: int | None = None,
    progress: bool = True,
    **options: Any,
) -> dict[str, Any]:
    """Finds out where a compiled model loses accuracy, layer by layer, and tries rules against it.

    The arguments are those of :func:`compile`. The result is the object that ``strait analyze --json`` prints.
    """
    task = _Task(model, samples, [target], rules, options)
    try:
        found: dict[str, Any] = json.loads(_strait.analyze(task.text, str(task.folder), threads, Watch(progress)))
        return found
    finally:
        task.remove()


