"""Folders of cases that `crates/onnx/examples/node_tests` runs.

A folder has a model for each case, `tensors.bin` with all elements, and `cases.txt`, where a case is a line `case NAME RTOL ATOL
OPERATOR`, with the only operator of its model or `-`, and then a line `in` or `out` for each of its tensors: element type, extents
joined by `x` (`-` for none), offset and number of bytes.
"""

from contextlib import contextmanager
from pathlib import Path

import onnx
from onnx import TensorProto, numpy_helper


class Folder:
    """A folder while it is written."""

    def __init__(self, folder, elements):
        self.folder, self.elements, self.lines, self.offset = folder, elements, [], 0

    def add(self, name, model, tolerances, operator, inputs, outputs):
        """A case with its tensors, as protobufs; `operator` is none where the model has several."""
        onnx.save(model, self.folder / f"{name}.onnx")
        relative, absolute = tolerances
        self.lines.append(f"case {name} {relative} {absolute} {operator or '-'}")
        for side, tensor in [("in", t) for t in inputs] + [("out", t) for t in outputs]:
            data = numpy_helper.to_array(tensor).tobytes()
            extents = "x".join(map(str, tensor.dims)) or "-"
            kind = TensorProto.DataType.Name(tensor.data_type).lower()
            self.lines.append(f"{side} {kind} {extents} {self.offset} {len(data)}")
            self.offset += self.elements.write(data)


@contextmanager
def folder(path, scripts, *packages):
    """The folder to write, or nothing where it is there already, of these scripts and these packages."""
    scripts = (scripts,) if isinstance(scripts, str) else scripts
    texts = [Path(file).read_text() for file in (*scripts, __file__)]
    stamp, wanted = path / "stamp.txt", "\n".join([f"{package.__name__} {package.__version__}" for package in packages] + texts)
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
