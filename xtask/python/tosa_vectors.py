#!/usr/bin/env python3
"""Vectors of RESCALE from TOSA's reference model. Started by `cargo xtask oracles`, in an environment of its own.

Most values lie inside the operator's domain. At its edges the model runs one value at a time, as it answers for a whole
tensor whether a result is unpredictable; such results are written as null.
"""

import argparse
import contextlib
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import tosa_reference_model as model
import tosa_serializer as tosa
from vectors import WIDE, Kernel

PROGRAM = f"TOSA reference model {version('tosa-tools')}"
VALUES, CHANNELS = 48, 8

# Name in the vectors: TOSA's type, whether it is read as unsigned, limits, type of the array.
TYPES = {
    "i8": (tosa.DType.INT8, False, -(2**7), 2**7 - 1, np.int8),
    "u8": (tosa.DType.INT8, True, 0, 2**8 - 1, np.uint8),
    "i16": (tosa.DType.INT16, False, -(2**15), 2**15 - 1, np.int16),
    "i32": (tosa.DType.INT32, False, -(2**31), 2**31 - 1, np.int32),
    "i48": (tosa.DType.INT48, False, -(2**47), 2**47 - 1, np.int64),
}
# Pairs that the operator does not have.
REFUSED = {("u8", "u8"), ("u8", "i32"), ("i32", "u8"), ("i48", "u8")}
ROUNDINGS = {"one": tosa.RoundingMode.SINGLE_ROUND, "two": tosa.RoundingMode.DOUBLE_ROUND}


@contextlib.contextmanager
def quiet():
    """Without what the model prints of results that are unpredictable."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for seed, (bits, rounding) in enumerate(((32, "one"), (32, "two"), (16, "one"))):
        for source in ("i8", "u8", "i16", "i32", "i48"):
            if (bits, source) != (32, "i48"):
                rescale(np.random.default_rng(seed), bits, rounding, source).write(folder)


def rescale(generator, bits, rounding, source):
    other = {"one": "TosaRescale, two roundings", "two": "TosaRescale, one rounding"}[rounding]
    others = [other] if bits == 32 else []
    kernel = Kernel(PROGRAM, f"RESCALE, scale{bits}, {rounding} rounding{'s' * (rounding == 'two')}, {source} input", "TosaRescale", others)
    for target in ("i8", "u8", "i16", "i32"):
        if (source, target) in REFUSED:
            continue
        for number in range(24):
            per_channel = number % 2 == 0
            many = CHANNELS if per_channel else 1
            shift = generator.integers(2, 63, many)
            if number % 3 == 0:
                multiplier = 2 ** generator.integers(0, bits - 1, many)  # with ties
            else:
                multiplier = generator.integers(0 if number == 1 else 2 ** (bits - 2), 2 ** (bits - 1), many)
            if number == 4:
                multiplier[:] = 2 ** (bits - 1) - 1
            zeros = [int(generator.integers(*TYPES[t][2:4], endpoint=True)) if t in ("i8", "u8") else 0
                     for t in (source, target)]  # fmt: skip
            run = Run(bits, rounding, source, target, multiplier, shift, zeros)
            low, high = run.domain()
            x = values(generator, run, low, high)
            run.add(kernel, x, run.results(x))
            if not per_channel:
                edges(kernel, run, int(low[0]), int(high[0]))
    return kernel


def values(generator, run, low, high):
    """Rows of values inside the domain: anywhere, small, at its ends, and beside steps of the result."""
    rows = []
    for channel, (least, most) in enumerate(zip(low, high)):
        anywhere = generator.integers(least, most, VALUES, endpoint=True)
        small = generator.integers(-300, 301, VALUES // 4)
        # acc * multiplier / 2^shift = k + 1/2
        k = generator.integers(-300, 301, VALUES // 2)
        factor = max(float(run.multiplier[channel]), 1.0) / 2.0 ** float(run.shift[channel])
        steps = np.clip((k + 0.5) / factor, -(2.0**50), 2.0**50).round().astype(WIDE) + generator.integers(-1, 2, k.size)
        rows.append(np.clip(np.concatenate([anywhere, small + run.zeros[0], steps + run.zeros[0]]), least, most))
    return np.array(rows, WIDE)


def edges(kernel, run, low, high):
    """The ends of the domain and what is behind them, as far as the type has it."""
    least, most = TYPES[run.source][2:4]
    for value in (low - 1, low, high, high + 1):
        if least <= value <= most:
            x = np.array([[value]], WIDE)
            run.add(kernel, x, run.results(x))


def end(inside, start, limit):
    """The last integer from `start`, which is inside, towards `limit` that is."""
    if inside(limit):
        return limit
    while abs(limit - start) > 1:
        middle = (start + limit) // 2
        start, limit = (middle, limit) if inside(middle) else (start, middle)
    return start


def integers(values):
    return {"channel": values.tolist()} if values.size > 1 else {"tensor": int(values[0])}


class Run:
    """One set of parameters of RESCALE."""

    def __init__(self, bits, rounding, source, target, multiplier, shift, zeros):
        self.bits, self.rounding, self.source, self.target = bits, rounding, source, target
        self.multiplier, self.shift, self.zeros = multiplier.astype(WIDE), shift.astype(WIDE), zeros

    def domain(self):
        """The smallest and the largest value of the type for each channel that the specification has a result for."""
        # A value at the zero point is always inside.
        ends = [[end(lambda x: self.inside(channel, x), self.zeros[0], limit) for limit in TYPES[self.source][2:4]]
                for channel in range(self.multiplier.size)]  # fmt: skip
        return np.array(ends, WIDE).T

    def inside(self, channel, x):
        """The specification's REQUIREs; they hold for an interval around the input's zero point."""
        value, multiplier, shift = x - self.zeros[0], int(self.multiplier[channel]), int(self.shift[channel])
        bits = shift - 1 if self.bits == 32 else 47
        half = 1 << (shift - 1)
        if self.rounding == "two" and shift > 31:
            half += (1 << 30) if value >= 0 else -(1 << 30)
        result = (value * multiplier + half) >> shift
        narrow = all(-(2**31) <= r < 2**31 for r in (result, result + self.zeros[1]))
        return -(1 << bits) <= value < 1 << bits and narrow

    def results(self, x):
        """What the model makes of rows of values, one row per channel; null where it does not answer for any of it."""
        source, unsigned_source, _, _, source_array = TYPES[self.source]
        target, unsigned_target, _, _, target_array = TYPES[self.target]
        scale = (tosa.DType.INT32, np.int32) if self.bits == 32 else (tosa.DType.INT16, np.int16)
        # Channels are along the last axis.
        tensor = np.ascontiguousarray(x.T).astype(source_array)
        with tempfile.TemporaryDirectory() as folder:
            graph = tosa.TosaSerializer(folder)
        # As a constant: the module's `run` takes no input of 48 bits.
        operands = []
        for name, kind, array in (
            ("x", source, tensor),
            ("multiplier", scale[0], self.multiplier.astype(scale[1])),
            ("shift", tosa.DType.INT8, self.shift.astype(np.int8)),
            ("input_zero", source, np.array(self.zeros[:1]).astype(source_array)),
            ("output_zero", target, np.array(self.zeros[1:]).astype(target_array)),
        ):
            signed = array.view(array.dtype.name.removeprefix("u"))
            operands.append(graph.addConst(list(array.shape), kind, signed, name).name)
        result = graph.addOutput(list(tensor.shape), target)
        attribute = tosa.TosaSerializerAttribute()
        per_channel = self.multiplier.size > 1
        attribute.RescaleAttribute(self.bits == 32, ROUNDINGS[self.rounding], per_channel, unsigned_source, unsigned_target)
        graph.addOperator(tosa.Op.RESCALE, operands, [result.name], attribute)
        with quiet():
            found, status = model.run(graph.serialize(), [])
        if status == model.GraphStatus.TOSA_UNPREDICTABLE:
            return [[None] * row.size for row in x]
        if status != model.GraphStatus.TOSA_VALID:
            raise RuntimeError(f"{vars(self)}: {status}")
        return found[0].view(target_array).reshape(tensor.shape).T.tolist()

    def add(self, kernel, x, y):
        kernel.add(x, y, self.target, 1.0, self.zeros[1], rescale={
            "multiplier": integers(self.multiplier), "shift": integers(self.shift), "bits": self.bits,
            "rounding": self.rounding, "input": self.source, "input_zero": self.zeros[0],
        })  # fmt: skip


if __name__ == "__main__":
    main()
