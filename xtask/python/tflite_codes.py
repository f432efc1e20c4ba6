#!/usr/bin/env python3
"""Hold TFLite models of one operator on codes, compiled for generic-int8, against LiteRT's reference kernels, byte by byte. Started by
`cargo xtask oracles`.

What LiteRT refuses we have to refuse. A case may be off where we have no kernel like LiteRT's: that is said, and by how much.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from litert import OpResolverType, Tensor, activation, computed, options, padding, result, schema, window, written

SAMPLES = 3
numbers = np.random.default_rng(11)


def codes(kind, *shape, scale=0.05, zero=None, low=None, high=None):
    """Codes over the whole type, or between two, on a grid."""
    ends = np.iinfo(kind)
    zero = {"int8": 3, "uint8": 131, "int16": 0}[kind] if zero is None else zero
    low, high = ends.min if low is None else low, ends.max if high is None else high
    return Tensor(numbers.integers(low, high, (SAMPLES, *shape), dtype=kind, endpoint=True), scale, zero)


def weights(*shape, axis=None, kind="int8", packed=False, zero=0):
    """Weights, with a scale for all or one for each position along an axis."""
    most = 7 if packed else 127
    low, high = (0, 255) if kind == "uint8" else (-most, most)
    scale = 0.02 if axis is None else numbers.uniform(0.005, 0.04, shape[axis]).astype(np.float32)
    values = numbers.integers(low, high, shape, dtype=kind, endpoint=True)
    return Tensor(values, scale if axis is None else list(map(float, scale)), zero, axis or 0, packed)


def bias(x, w, channels):
    scales = np.float32(x.scale) * np.atleast_1d(np.array(w.scale, np.float32))
    kind = np.int64 if x.values.dtype == np.int16 else np.int32
    values = numbers.integers(-2000, 2000, channels).astype(kind)
    return Tensor(values, list(map(float, scales)) if len(scales) > 1 else float(scales[0]), 0, 0)


class Case:
    """An operator on inputs, whose first axis is that of the samples, then on constants; its result is on a grid."""

    def __init__(self, name, operator, inputs, constants=(), made=None, kind="int8", grid=(0.04, -5), order=None, version=2,
                 results=1, off=0, made_of=(1,)):  # fmt: skip
        self.name, self.operator, self.inputs, self.constants, self.made = name, operator, inputs, list(constants), made
        self.kind, self.grid, self.order, self.version, self.results, self.off = kind, grid, order, version, results, off
        self.made_of, self.may_refuse = made_of, False

    def of_sample(self, sample):
        return [Tensor(t.values[sample : sample + 1], t.scale, t.zero) for t in self.inputs]

    def file(self, shapes):
        results = [result(shape, self.kind, *self.grid) for shape in shapes]
        first = self.of_sample(0)
        return written(self.operator, self.made, first, self.constants, results, self.order, version=self.version)

    def expected(self):
        """The file, and LiteRT's results; no file where LiteRT refuses."""
        rough = self.file([self.made_of] * self.results)
        first = computed(rough, self.of_sample(0))
        file = self.file([array.shape for array in first])
        every = [computed(file, self.of_sample(sample)) for sample in range(SAMPLES)]
        return file, [np.concatenate(arrays) for arrays in zip(*every, strict=True)]


def convolutions(kind, four_bits):
    zero = 0 if kind == "int16" else -5
    x = codes(kind, 7, 9, 4)
    for axis in [0] if kind == "int16" else [None, 0]:
        for word, grid in [("NONE", (0.9, zero)), ("RELU", (0.5, -128 if zero else 0)), ("RELU6", (0.02353, -128 if zero else 0)),
                           ("RELU", (0.4, zero)), ("RELU_N1_TO_1", (0.4, zero))]:  # fmt: skip
            w = weights(6, 3, 2, 4, axis=axis, packed=four_bits)
            made = window("Conv2DOptions", (1, 2), "SAME", fusedActivationFunction=activation(word))
            yield Case(f"conv_{word.lower()}_{grid[1]}_{axis}", "CONV_2D", [x], [w, bias(x, w, 6)], made, kind, grid, version=4)
        w = weights(1, 3, 2, 8, axis=None if axis is None else 3, packed=four_bits)
        made = window("DepthwiseConv2DOptions", (2, 1), "SAME", depthMultiplier=2)
        yield Case(f"depthwise_{axis}", "DEPTHWISE_CONV_2D", [x], [w, bias(x, w, 8)], made, kind, (0.6, zero), version=4)
        if not four_bits:
            w = weights(5, 3, 3, 4, axis=axis)
            made = options("TransposeConvOptions", padding=padding("SAME"), strideH=2, strideW=2)
            shape = Tensor(np.array([1, 14, 18, 5], np.int32))
            yield Case(f"transpose_conv_{axis}", "TRANSPOSE_CONV", [x], [shape, w, bias(x, w, 5)], made, kind, (0.9, zero),
                       [1, 2, 0, 3], version=3)  # fmt: skip
    flat = codes(kind, 12)
    w = weights(7, 12, packed=four_bits)
    yield Case("fully_connected", "FULLY_CONNECTED", [flat], [w, bias(flat, w, 7)], options("FullyConnectedOptions"), kind,
               (0.5, zero), version=4)  # fmt: skip
    yield Case("fully_connected_bare", "FULLY_CONNECTED", [flat], [w], options("FullyConnectedOptions"), kind, (0.5, zero),
               [0, 1, -1], version=6)  # fmt: skip
    if not four_bits:
        w = weights(7, 12, axis=0)
        yield Case("fully_connected_channels", "FULLY_CONNECTED", [flat], [w, bias(flat, w, 7)], options("FullyConnectedOptions"),
                   kind, (0.5, zero), version=12)  # fmt: skip
        deep = codes(kind, 3, 12)
        w = weights(7, 12)
        made = options("FullyConnectedOptions", keepNumDims=True)
        yield Case("fully_connected_kept", "FULLY_CONNECTED", [deep], [w, bias(deep, w, 7)], made, kind, (0.5, zero), version=5)


def unsigned():
    """The older quantization: codes without a sign everywhere."""
    x = codes("uint8", 7, 9, 4)
    w = weights(6, 3, 2, 4, kind="uint8", zero=120)
    yield Case("conv", "CONV_2D", [x], [w, bias(x, w, 6)], window("Conv2DOptions", (1, 1), "SAME"), "uint8", (0.9, 120), version=1)
    w = weights(1, 3, 2, 8, kind="uint8", zero=120)
    made = window("DepthwiseConv2DOptions", (1, 1), "SAME", depthMultiplier=2)
    yield Case("depthwise", "DEPTHWISE_CONV_2D", [x], [w, bias(x, w, 8)], made, "uint8", (0.6, 130), version=1)
    flat = codes("uint8", 12)
    w = weights(7, 12, kind="uint8", zero=120)
    yield Case("fully_connected", "FULLY_CONNECTED", [flat], [w, bias(flat, w, 7)], options("FullyConnectedOptions"), "uint8",
               (0.5, 120), version=1)  # fmt: skip


def elementwise(kind):
    zero = 0 if kind == "int16" else 4
    a, b = codes(kind, 3, 4, 5, scale=0.03), codes(kind, 3, 4, 5, scale=0.07, zero=0 if kind == "int16" else None)
    for operator, table in [("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions")]:
        for word in ["NONE", "RELU", "RELU6"]:
            made = options(table, fusedActivationFunction=activation(word))
            yield Case(f"{operator.lower()}_{word.lower()}", operator, [a, b], (), made, kind, (0.11, zero))
        row = Tensor(numbers.integers(-100, 100, (5,)).astype(kind) if kind != "uint8" else numbers.integers(0, 200, (5,)).astype(kind),
                     0.07, 0 if kind == "int16" else 4)  # fmt: skip
        yield Case(f"{operator.lower()}_row", operator, [a], [row], options(table), kind, (0.11, zero))
    for operator in ["MINIMUM", "MAXIMUM"]:
        same = codes(kind, 3, 4, 5, scale=0.03)
        yield Case(operator.lower(), operator, [a, same], (), options("MaximumMinimumOptions"), kind, (a.scale, a.zero))
    yield Case("squared_difference", "SQUARED_DIFFERENCE", [a, b], (), options("SquaredDifferenceOptions"), kind, (0.5, zero), off=3,
               made_of=(1, 3, 4, 5))  # fmt: skip


def functions(kind):
    zero = 0 if kind == "int16" else 4
    x = codes(kind, 5, 40, scale=0.05 if kind != "int16" else 0.0003)
    half = {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)}[kind]
    whole = {"int8": (1 / 128, 0), "uint8": (1 / 128, 128), "int16": (1 / 32768, 0)}[kind]
    yield Case("logistic", "LOGISTIC", [x], (), None, kind, half)
    yield Case("tanh", "TANH", [x], (), None, kind, whole)
    yield Case("softmax", "SOFTMAX", [x], (), options("SoftmaxOptions", beta=1.0), kind, half)
    yield Case("softmax_half", "SOFTMAX", [x], (), options("SoftmaxOptions", beta=0.5), kind, half,
               off=1 if kind == "int16" else 0)  # fmt: skip
    yield Case("leaky_relu", "LEAKY_RELU", [x], (), options("LeakyReluOptions", alpha=0.2), kind, (x.scale * 1.1, zero))
    for word in ["RELU", "RELU6"]:
        yield Case(word.lower(), word, [x], (), None, kind, (x.scale, x.zero))
        yield Case(f"{word.lower()}_other", word, [x], (), None, kind, (x.scale * 0.9, -128 if kind == "int8" else 0), off=1)
    if kind != "int16":
        yield Case("hard_swish", "HARD_SWISH", [x], (), options("HardSwishOptions"), kind, (0.04, zero), version=1)
        yield Case("log_softmax", "LOG_SOFTMAX", [x], (), options("LogSoftmaxOptions"), kind, (16 / 256, 127 if kind == "int8" else 255),
                   off=255)  # fmt: skip
    for other in ["int8", "uint8", "int16"]:
        grid = (0.06 if other != "int16" else 0.0002, {"int8": -3, "uint8": 100, "int16": 0}[other])
        yield Case(f"quantize_{other}", "QUANTIZE", [x], (), options("QuantizeOptions"), other, grid, off=1, made_of=(1, 5, 40))


def images(kind):
    x = codes(kind, 6, 8, 3)
    own = (x.scale, x.zero)
    zero = 0 if kind == "int16" else 4
    for pad in ["SAME", "VALID"]:
        made = window("Pool2DOptions", (2, 1), pad, filterHeight=3, filterWidth=2)
        yield Case(f"average_pool_{pad.lower()}", "AVERAGE_POOL_2D", [x], (), made, kind, own)
        yield Case(f"max_pool_{pad.lower()}", "MAX_POOL_2D", [x], (), made, kind, own)
    for axes in [(1, 2), (3,), (1,)]:
        for keeps in [True, False]:
            made = options("ReducerOptions", keepDims=keeps)
            yield Case(f"mean_{axes}_{keeps}", "MEAN", [x], [Tensor(np.array(axes, np.int32))], made, kind, (0.04, zero))
    made = options("ReducerOptions", keepDims=True)
    yield Case("mean_own", "MEAN", [x], [Tensor(np.array([1, 2], np.int32))], made, kind, own)
    yield Case("reduce_max", "REDUCE_MAX", [x], [Tensor(np.array([1, 2], np.int32))], made, kind, own)
    for operator, table in [("RESIZE_BILINEAR", "ResizeBilinearOptions"), ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions")]:
        for corners, centers in [(False, False), (True, False), (False, True)]:
            made = options(table, alignCorners=corners, halfPixelCenters=centers)
            yield Case(f"{operator.lower()}_{corners}_{centers}", operator, [x], [Tensor(np.array([11, 5], np.int32))], made, kind, own,
                       version=3, off=1 if (kind, operator) == ("uint8", "RESIZE_BILINEAR") else 0)  # fmt: skip


def moves(kind):
    x, y = codes(kind, 4, 6, 8), codes(kind, 4, 6, 8)
    own = (x.scale, x.zero)

    def ints(*values):
        return Tensor(np.array(values, np.int32))

    amounts = Tensor(np.array([[0, 0], [1, 2], [0, 1], [3, 0]], np.int32))
    yield Case("reshape", "RESHAPE", [x], [ints(1, -1)], options("ReshapeOptions"), kind, own, version=1)
    yield Case("transpose", "TRANSPOSE", [x], [ints(0, 3, 1, 2)], options("TransposeOptions"), kind, own)
    yield Case("pad", "PAD", [x], [amounts], options("PadOptions"), kind, own)
    yield Case("padv2", "PADV2", [x], [amounts, Tensor(np.array(7, kind), *own)], options("PadV2Options"), kind, own)
    yield Case("mirror_pad", "MIRROR_PAD", [x], [amounts], options("MirrorPadOptions", mode=0), kind, own)
    yield Case("slice", "SLICE", [x], [ints(0, 1, 1, 2), ints(1, -1, 2, 3)], options("SliceOptions"), kind, own, made_of=(1, 3, 2, 3))
    yield Case("strided_slice", "STRIDED_SLICE", [x], [ints(0, 3, 0, 1), ints(1, 0, 6, 8), ints(1, -1, 2, 3)],
               options("StridedSliceOptions"), kind, own)  # fmt: skip
    yield Case("split", "SPLIT", [x], [Tensor(np.array(2, np.int32))], options("SplitOptions", numSplits=3),
               kind, own, [1, 0], results=3)  # fmt: skip
    yield Case("unpack", "UNPACK", [x], (), options("UnpackOptions", num=4, axis=1), kind, own, results=4)
    yield Case("gather", "GATHER", [x], [ints(2, 0)], options("GatherOptions", axis=1), kind, own)
    yield Case("tile", "TILE", [x], [ints(1, 2, 1, 3)], options("TileOptions"), kind, own)
    yield Case("concatenation", "CONCATENATION", [x, y], (), options("ConcatenationOptions", axis=3), kind, own)
    yield Case("pack", "PACK", [x, y], (), options("PackOptions", valuesCount=2, axis=1), kind, own)
    yield Case("depth_to_space", "DEPTH_TO_SPACE", [x], (), options("DepthToSpaceOptions", blockSize=2), kind, own, version=1)
    yield Case("space_to_depth", "SPACE_TO_DEPTH", [x], (), options("SpaceToDepthOptions", blockSize=2), kind, own, made_of=(1, 2, 3, 32))
    yield Case("squeeze", "SQUEEZE", [codes(kind, 1, 6)], (), options("SqueezeOptions", squeezeDims=[1]), kind, own, version=1)
    yield Case("expand_dims", "EXPAND_DIMS", [x], [Tensor(np.array(1, np.int32))], options("ExpandDimsOptions"), kind, own, version=1)


def products(kind):
    zero = 0 if kind == "int16" else 4
    for turned in [False, True]:
        a = codes(kind, 3, 4, 6)
        b = codes(kind, 3, *((5, 6) if turned else (6, 5)), scale=0.03)
        made = options("BatchMatMulOptions", adjY=turned)
        yield Case(f"batch_matmul_{turned}", "BATCH_MATMUL", [a, b], (), made, kind, (0.9, zero), made_of=(1, 3, 4, 5))


def refused(kind):
    """Grids that LiteRT has no kernel for, or with which it computes as if they were others."""
    for case, shape in grids_without_kernels(kind):
        case.made_of, case.may_refuse = shape, True
        yield case


def grids_without_kernels(kind):
    zero = 0 if kind == "int16" else 4
    x, y = codes(kind, 4, 6), codes(kind, 4, 6, scale=0.07, zero=zero)
    image = codes(kind, 4, 6, 3)
    own, other = (x.scale, x.zero), (x.scale * 2, x.zero)
    yield Case("logistic_grid", "LOGISTIC", [x], (), None, kind, (0.01, zero)), (1, 4, 6)
    yield Case("tanh_grid", "TANH", [x], (), None, kind, (0.01, zero)), (1, 4, 6)
    yield Case("softmax_grid", "SOFTMAX", [x], (), options("SoftmaxOptions", beta=1.0), kind, (0.01, zero)), (1, 4, 6)
    yield Case("concatenation_grids", "CONCATENATION", [x, y], (), options("ConcatenationOptions", axis=1), kind, own), (1, 8, 6)
    yield Case("average_pool_grid", "AVERAGE_POOL_2D", [image], (), window("Pool2DOptions", filterHeight=2, filterWidth=2), kind, other), (1, 3, 5, 3)
    yield Case("max_pool_grid", "MAX_POOL_2D", [image], (), window("Pool2DOptions", filterHeight=2, filterWidth=2), kind, other), (1, 3, 5, 3)
    yield Case("reshape_grid", "RESHAPE", [x], [Tensor(np.array([1, -1], np.int32))], options("ReshapeOptions"), kind, other), (1, 24)
    yield Case("pad_grid", "PAD", [x], [Tensor(np.array([[0, 0], [1, 1], [0, 0]], np.int32))], options("PadOptions"), kind, other), (1, 6, 6)
    yield Case("maximum_grids", "MAXIMUM", [x, y], (), options("MaximumMinimumOptions"), kind, own), (1, 4, 6)
    yield Case("reduce_max_grid", "REDUCE_MAX", [x], [Tensor(np.array([1], np.int32))], options("ReducerOptions"), kind, other), (1, 6)
    yield Case("transpose_grid", "TRANSPOSE", [x], [Tensor(np.array([0, 2, 1], np.int32))], options("TransposeOptions"), kind, other), (1, 6, 4)
    yield Case("l2_grid", "L2_NORMALIZATION", [x], (), options("L2NormOptions"), kind, (0.01, zero)), (1, 4, 6)
    yield Case("log_softmax_grid", "LOG_SOFTMAX", [x], (), options("LogSoftmaxOptions"), kind, (0.01, zero)), (1, 4, 6)
    w = weights(7, 6)
    b = bias(x, w, 7)
    yield Case("bias_grid", "FULLY_CONNECTED", [codes(kind, 6)], [w, Tensor(b.values, b.scale * 1000, 0)], options("FullyConnectedOptions"),
               kind, (0.5, zero), version=4), (1, 7)  # fmt: skip
    image = codes(kind, 5, 5, 4)
    w = weights(6, 3, 2, 4, axis=0)
    b = bias(image, w, 6)
    many = Tensor(w.values, w.scale[:-1], 0, 0)
    yield Case("too_few_scales", "CONV_2D", [image], [many, b], window("Conv2DOptions"), kind, (0.5, zero), version=4), (1, 3, 4, 6)
    moved = Tensor(w.values, w.scale[:4], 0, 3)
    yield Case("scales_of_inputs", "CONV_2D", [image], [moved, b], window("Conv2DOptions"), kind, (0.5, zero), version=4), (1, 3, 4, 6)
    centred = Tensor(w.values, 0.02, 5, 0)
    yield Case("weights_off_zero", "CONV_2D", [image], [centred, bias(image, centred, 6)], window("Conv2DOptions"), kind, (0.5, zero), version=4), (1, 3, 4, 6)
    if kind == "int16":
        off = codes(kind, 5, 5, 4, zero=3)
        yield Case("conv_off_zero", "CONV_2D", [off], [w, b], window("Conv2DOptions"), kind, (0.5, zero), version=4), (1, 3, 4, 6)
        yield Case("conv_result_off_zero", "CONV_2D", [image], [w, b], window("Conv2DOptions"), kind, (0.5, 3), version=4), (1, 3, 4, 6)
        yield Case("add_off_zero", "ADD", [off, image], (), options("AddOptions"), kind, (0.5, 0)), (1, 5, 5, 4)


def cases():
    for kind in ["int8", "int16", "uint8"]:
        families = [elementwise(kind), functions(kind), images(kind), moves(kind), products(kind), refused(kind)]
        if kind != "uint8":
            families.append(convolutions(kind, False))
        for case in (case for family in families for case in family):
            yield f"{kind}_{case.name}", case
    for case in convolutions("int8", True):
        yield f"int4_{case.name}", case
    for case in unsigned():
        yield f"uint8_{case.name}", case


def ours(strait, folder, case, file):
    """Our results, or words of ours about the file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.tflite").write_bytes(file)
    arrays = {f"tensor{index}": tensor.values for index, tensor in enumerate(case.inputs)}
    inputs = [f"{name}={folder / name}.npy" for name in arrays]
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "data.npz", **arrays)
    (folder / "strait.toml").write_text(
        'schema = 1\nmodel.file = "model.tflite"\ntarget.use = ["generic-int8"]\ncalibration.data = "data.npz"\noutput.dir = "build"\n'
    )
    done = subprocess.run([strait, "compile", folder / "strait.toml"], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr
    to = folder / "y.npy" if case.results == 1 else folder / "outputs"
    run = [strait, "run", folder / "build", "--raw", "--output", to]
    done = subprocess.run([*run, *(word for i in inputs for word in ("--input", i))], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr
    if case.results == 1:
        return [np.load(to)], ""
    entries = json.loads((to / "index.json").read_text())["outputs"]
    return [np.load(to / entry["file"]) for entry in entries], ""


def judged(strait, folder, case):
    """One word about a case, and more of them."""
    try:
        file, expected = case.expected()
    except (RuntimeError, ValueError) as error:
        found, words = ours(strait, folder, case, case.file([case.made_of] * case.results))
        if found is None:
            return ("DEFECT", words) if "defect" in words else ("refused", "")
        return "TAKEN", f"LiteRT: {str(error).splitlines()[0]}"
    found, words = ours(strait, folder, case, file)
    if found is None:
        return ("refused", "") if case.may_refuse and "defect" not in words else ("REFUSED", words)
    worst = count = 0
    for f, e in zip(found, expected, strict=True):
        if f.dtype != e.dtype or f.size != e.size:
            return "WRONG", f"{f.dtype} {f.shape} instead of {e.dtype} {e.shape}"
        difference = np.abs(f.reshape(e.shape).astype(int) - e.astype(int))
        worst, count = max(worst, int(difference.max())), count + int((difference > 0).sum())
    words = f"{count} of {expected[0].size} codes by up to {worst}" if worst else ""
    return ("equal" if worst == 0 else "off" if worst <= case.off else "WRONG"), words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strait", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    arguments = parser.parse_args()
    counts = dict.fromkeys(["equal", "off", "refused"], 0)
    for name, case in cases():
        if arguments.only in name:
            what, words = judged(arguments.strait, arguments.work / name, case)
            counts[what] = counts.get(what, 0) + 1
            if words:
                print(f"{what:8}{name}: {' '.join(words.split())[:400]}")
    wrong = sum(count for what, count in counts.items() if what.isupper())
    print(f"operators on codes: {counts['equal']} equal, {counts['off']} off, {counts['refused']} refused as they should be, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
