"""Folders of TFLite models that `crates/tflite/examples/litert_operators` runs, with what LiteRT computes of them.

A folder is as `tensorflow_cases.py` says, with a file of TFLite for each case. A line `hybrid` behind that of a case stands for reading
the codes of weights beside real activations as numbers.
"""

from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np

KINDS = {"float32": "float", "float64": "double"}


class Folder:
    """A folder while it is written."""

    def __init__(self, folder, elements):
        self.folder, self.elements, self.lines, self.offset = folder, elements, [], 0

    def add(self, name, file, tolerances, operator, inputs, outputs, settings=()):
        """A case with its tensors; `operator` is none where the model has several."""
        (self.folder / f"{name}.tflite").write_bytes(file)
        relative, absolute = tolerances
        self.lines.append(f"case {name} {relative} {absolute} {operator or '-'}")
        self.lines.extend(settings)
        for side, array in [("in", a) for a in inputs] + [("out", a) for a in outputs]:
            array = np.asarray(array)
            data = array.tobytes()
            extents = "x".join(map(str, array.shape)) or "-"
            kind = KINDS.get(array.dtype.name, array.dtype.name)
            self.lines.append(f"{side} {kind} {extents} {self.offset} {len(data)}")
            self.offset += self.elements.write(data)


@contextmanager
def folder(path, *scripts):
    """The folder to write, or nothing where it is there already, of these scripts and this version of LiteRT."""
    texts = [Path(file).read_text() for file in (*scripts, __file__)]
    stamp, wanted = path / "stamp.txt", "\n".join([version("ai-edge-litert"), *texts])
    if stamp.is_file() and stamp.read_text() == wanted:
        yield None
        return
    path.mkdir(parents=True, exist_ok=True)
    for old in path.iterdir():
        old.unlink()
    with open(path / "tensors.bin", "wb") as elements:
        made = Folder(path, elements)
        yield made
    (path / "cases.txt").write_text("\n".join(made.lines) + "\n")
    stamp.write_text(wanted)  # last, so that what was interrupted counts as nothing
