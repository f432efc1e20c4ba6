"""Folders of TensorFlow graphs that `crates/tensorflow/examples/graphs` runs, with what TensorFlow computes of them.

A folder has a frozen graph for each case, `tensors.bin` with all elements, and `cases.txt`, where a case is a line `case NAME RTOL
ATOL OPERATOR`, with the only operator of its graph or `-`; then, where the graph is cut or bound, lines `begin TENSOR`, `end
TENSOR` and `bind KEY NUMBER`; and then a line `in` or `out` for each of its tensors: element type, extents joined by `x` (`-` for
none), offset and number of bytes.
"""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tensorflow as tf

KINDS = {"float32": "float", "float64": "double"}


class Folder:
    """A folder while it is written."""

    def __init__(self, folder, elements):
        self.folder, self.elements, self.lines, self.offset = folder, elements, [], 0

    def add(self, name, graph, tolerances, operator, inputs, outputs, settings=()):
        """A case with its tensors; `operator` is none where the graph has several, `graph` its bytes."""
        (self.folder / f"{name}.pb").write_bytes(graph)
        relative, absolute = tolerances
        self.lines.append(f"case {name} {relative} {absolute} {operator or '-'}")
        self.lines.extend(settings)
        for side, tensor in [("in", t) for t in inputs] + [("out", t) for t in outputs]:
            tensor = np.asarray(tensor)
            data = tensor.tobytes()
            extents = "x".join(map(str, tensor.shape)) or "-"
            kind = KINDS.get(tensor.dtype.name, tensor.dtype.name)
            self.lines.append(f"{side} {kind} {extents} {self.offset} {len(data)}")
            self.offset += self.elements.write(data)


@contextmanager
def folder(path, *scripts):
    """The folder to write, or nothing where it is there already, of these scripts and this version of TensorFlow."""
    texts = [Path(file).read_text() for file in (*scripts, __file__)]
    stamp, wanted = path / "stamp.txt", "\n".join([tf.__version__, *texts])
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


def run(graph, feeds, fetches):
    """The tensors of these names, from values for others; optimisations that reorder sums are off."""
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.optimizer_options.opt_level = -1
    with tf.compat.v1.Session(graph=graph, config=config) as session:
        return session.run(list(fetches), dict(feeds))
