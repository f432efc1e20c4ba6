"""What programs compute, written down for our forms to be compared with: files of cases.

A case is the parameters as the program was given them, and rows of integers: accumulators (or operands) and what the
program made of them. `tests/examples/oracles` reads them; the name of a rule there says what a row means.
"""

import json

import numpy as np

WIDE = np.int64


def real(value):
    """An f32 as a JSON number that reads back as the same f32."""
    value = np.asarray(value, np.float32)
    return [float(v) for v in value] if value.ndim else float(value)


def per(scales):
    """One scale for a tensor, or one for each of its channels."""
    return {"channel" if np.ndim(scales) else "tensor": real(scales)}


def scale(generator, low=1e-4, high=1e1):
    """A random scale, even in its logarithm."""
    return np.float32(np.exp(generator.uniform(np.log(low), np.log(high))))


def power(generator, low=-12, high=2):
    return np.float32(2.0 ** generator.integers(low, high))


def reciprocal(generator):
    """Two scales whose product is above one, and one in f32: with such a factor's half, ties tell the types apart."""
    while True:
        a = np.float32(generator.uniform(0.5, 1))
        b = np.float32(1 / a)
        if a * b == 1 and np.float64(a) * np.float64(b) > 1:
            return a, b


def codes(generator, elements, shape):
    """Random integers of all of a type."""
    limits = np.iinfo(elements)
    return generator.integers(limits.min, limits.max, shape, endpoint=True).astype(elements)


def short(elements):
    """The name of an integer type as our text forms have it."""
    return np.dtype(elements).name.replace("uint", "u").replace("int", "i")


class Kernel:
    """The cases of one kernel of a program, and our rule for it; `equal` where that is claimed to be the same function.

    The other rules are near to it: that they differ shows how far the cases tell such rules apart.
    """

    def __init__(self, program, name, rule, other_rules=(), equal=True, note=None):
        self.data = {"program": program, "kernel": name, "rule": rule, "equal": equal, "note": note}
        self.data.update(other_rules=list(other_rules), cases=[])

    def add(self, x, y, out, output, zero=0, **parameters):
        """Rows of operands and of results; a result may be None where the program says that it has none."""
        plain = lambda row: row if isinstance(row, list) else np.asarray(row, WIDE).ravel().tolist()  # noqa: E731
        rows = {"x": [plain(row) for row in x], "y": [plain(row) for row in y]}
        case = {"output": real(output), "zero": int(zero), "out": out, **parameters, **rows}
        self.data["cases"].append(case)

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        name = "".join(c if c.isalnum() else "-" for c in f"{self.data['program']} {self.data['kernel']}".lower())
        (folder / f"{name}.json").write_text(json.dumps(self.data, separators=(",", ":")))
