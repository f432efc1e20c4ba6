"""Writes samples to files that the compiler reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def array(item: Any) -> Array:
    """An array of anything that is like one, such as a tensor of PyTorch."""
    if hasattr(item, "detach"):
        item = item.detach().cpu().numpy()
    return np.asarray(item)


def batches(samples: Any) -> Iterator[list[tuple[str | None, Array]]]:
    """Batches of samples: for each input its name, if it is known, and an array whose first axis are the samples."""
    if isinstance(samples, Mapping):
        yield [(str(name), array(item)) for name, item in samples.items()]
    elif isinstance(samples, np.ndarray) or hasattr(samples, "detach"):
        yield [(None, array(samples))]
    elif isinstance(samples, Iterable):
        for item in samples:
            if isinstance(item, Mapping):
                yield [(str(name), array(own)) for name, own in item.items()]
            elif isinstance(item, (tuple, list)):
                # A loader of training data yields inputs and labels.
                yield [(None, array(item[0]))]
            else:
                yield [(None, array(item))]
    else:
        raise TypeError(f"samples are arrays, a dict of arrays or an iterable of batches, not {type(samples).__name__}")


class _Appended:
    """An ``.npy`` file to which arrays are appended."""

    def __init__(self, path: Path, first: Array) -> None:
        self._path, self._shape, self._dtype, self._count = path, first.shape[1:], first.dtype, 0
        self._file = path.open("wb")
        self._file.write(self._header())

    def _header(self) -> bytes:
        text = repr({"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (self._count, *self._shape)})
        # The number of samples is only known at the end, so there is room for it.
        return b"\x93NUMPY\x01\x00" + (502).to_bytes(2, "little") + text.ljust(501).encode("latin1") + b"\n"

    def append(self, part: Array) -> None:
        if part.shape[1:] != self._shape:
            raise ValueError(f"samples have different shapes: {list(self._shape)} and {list(part.shape[1:])}")
        self._file.write(np.ascontiguousarray(part, dtype=self._dtype).data)
        self._count += len(part)

    def close(self) -> None:
        self._file.seek(0)
        self._file.write(self._header())
        self._file.close()


def write(samples: Any, folder: Path, names: list[str]) -> Path:
    """Writes samples below ``folder``, and returns the path for ``calibration.data``."""
    files: dict[str, _Appended] = {}
    for batch in batches(samples):
        for at, (name, part) in enumerate(batch):
            if name is None and at < len(names):
                name = names[at]
            if name not in names:
                raise ValueError(f"the model has no input {name!r}; its inputs are {', '.join(map(repr, names))}")
            if part.ndim == 0:
                raise ValueError(f"the samples of {name!r} have no axis")
            if name not in files:
                files[name] = _Appended(folder / f"{len(files)}.npy", part)
            files[name].append(part)
    for file in files.values():
        file.close()
    missing = [name for name in names if name not in files]
    if missing:
        raise ValueError(f"there are no samples for the input {missing[0]!r}")
    if len(names) == 1:
        return folder / "0.npy"
    stack = folder / "samples.npz"
    order = {name: folder / f"{at}.npy" for at, name in enumerate(files)}
    np.savez(stack, **{name: np.load(path, mmap_mode="r") for name, path in order.items()})
    return stack
