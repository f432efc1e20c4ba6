#!/usr/bin/env python3
"""Write graphs of one TensorFlow operator each, with what TensorFlow computes of them. Started by `cargo xtask oracles`.

Each operator that is read has cases here: with its defaults, with each of its attributes, and with its channels last and first.
TensorFlow's kernels for the CPU have most images with their channels last alone; what is expected of the others is computed so,
and turned round.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import tensorflow_cases

TOLERANCES = (1e-5, 1e-5)
FIRST, LAST = {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]}, {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]}

numbers = np.random.default_rng(12)


def normal(*shape):
    return numbers.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return numbers.uniform(0.1, 3, shape).astype(np.float32)


def between(low, high, *shape):
    return numbers.uniform(low, high, shape).astype(np.float32)


def whole(low, high, kind, *shape):
    return numbers.integers(low, high, shape).astype(kind)


def ints(*values, kind=np.int32):
    return np.array(values, kind)


class Case:
    """An operator on operands by their names in TensorFlow; those in `known` are constants in the graph."""

    def __init__(self, name, operator, operands, attributes=None, known=(), results=1, turned=(), tolerances=TOLERANCES):
        self.name, self.operator, self.operands, self.attributes = name, operator, operands, attributes or {}
        self.known, self.results, self.tolerances = set(known), results, tolerances
        self.turned = turned  # operands that are images, in the cases with the channels first


def plain(operator, value, **more):
    """A function of one operand, whose name is that of TensorFlow's Python."""
    key = {"Selu": "features", "Relu": "features", "Relu6": "features", "Elu": "features", "LeakyRelu": "features",
           "Softplus": "features", "Softsign": "features", "Softmax": "logits", "LogSoftmax": "logits",
           "IdentityN": "input", "LogicalNot": "x", "StopGradient": "input", "Identity": "input", "Snapshot": "input",
           "CheckNumerics": "tensor", "PreventGradient": "input"}.get(operator, "x")  # fmt: skip
    return Case(operator.lower(), operator, {key: value}, **more)


def functions():
    for operator in ["Abs", "Asinh", "Atan", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp", "Expm1", "Floor", "Inv",
                     "LeakyRelu", "LogSoftmax", "Neg", "Reciprocal", "Relu", "Relu6", "Rint", "Round", "Selu", "Sigmoid",
                     "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Square", "Tan", "Tanh", "Identity",
                     "StopGradient", "Snapshot", "PreventGradient"]:  # fmt: skip
        yield plain(operator, 3 * normal(2, 3, 7))
    for operator in ["Log", "Rsqrt", "Sqrt"]:
        yield plain(operator, positive(2, 9))
    for operator in ["Acos", "Asin", "Atanh"]:
        yield plain(operator, between(-0.95, 0.95, 3, 7))
    yield plain("Acosh", 1 + positive(3, 7))
    yield plain("Log1p", np.concatenate([between(-0.9, 3, 20), between(-1e-3, 1e-3, 20), between(-1e-6, 1e-6, 9)]))
    yield Case("placeholderwithdefault", "PlaceholderWithDefault", {"input": normal(3, 4)}, {"shape": [3, 4]})
    small = Case("expm1_small", "Expm1", {"x": np.concatenate([between(-1e-3, 1e-3, 20), between(-1e-6, 1e-6, 9)])})
    small.tolerances = (1e-5, 0.0)
    yield small
    yield Case("leakyrelu_alpha", "LeakyRelu", {"features": normal(4, 5)}, {"alpha": 0.35})
    yield plain("CheckNumerics", normal(4), attributes={"message": "here"})
    yield Case("relu_int32", "Relu", {"features": whole(-5, 6, np.int32, 9)})
    yield Case("neg_int32", "Neg", {"x": whole(-5, 6, np.int32, 9)})
    yield Case("abs_int64", "Abs", {"x": whole(-5, 6, np.int64, 9)})
    yield Case("round_halves", "Round", {"x": np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])})
    odd = np.float32([1, -2, np.inf, -np.inf, np.nan, 0])
    for operator in ["IsFinite", "IsInf", "IsNan"]:
        yield Case(operator.lower(), operator, {"x": odd})
    yield Case("identityn", "IdentityN", {"input": [normal(2, 3), whole(0, 9, np.int32, 4)]}, results=2)


def arithmetic():
    pairs = {"Add": "xy", "AddV2": "xy", "Sub": "xy", "Mul": "xy", "RealDiv": "xy", "Maximum": "xy", "Minimum": "xy",
             "SquaredDifference": "xy"}  # fmt: skip
    for operator in pairs:
        x, y = normal(2, 3, 4), normal(3, 1)
        yield Case(operator.lower(), operator, {"x": x, "y": y})
        yield Case(f"{operator.lower()}_constant", operator, {"x": x, "y": normal(4)}, known=["y"])
        if operator != "RealDiv":
            yield Case(f"{operator.lower()}_int32", operator, {"x": whole(-9, 9, np.int32, 3, 4), "y": whole(-9, 9, np.int32, 4)})
    yield Case("maximum_number", "Maximum", {"x": normal(3, 4), "y": np.float32(0.25)}, known=["y"])
    yield Case("minimum_number", "Minimum", {"x": np.float32(0.25), "y": normal(3, 4)}, known=["x"])
    yield Case("addn", "AddN", {"inputs": [normal(2, 3), normal(2, 3), normal(2, 3)]})
    yield Case("addn_one", "AddN", {"inputs": [normal(2, 3)]})
    yield Case("div", "Div", {"x": normal(5), "y": positive(5)})
    dividends, divisors = whole(-20, 20, np.int32, 40), whole(1, 7, np.int32, 40) * np.int32([1, -1] * 20)
    for operator in ["Div", "TruncateDiv", "FloorDiv", "FloorMod", "TruncateMod", "Mod"]:
        # TensorFlow's Mod of integers truncates.
        yield Case(f"{operator.lower()}_int32", operator, {"x": dividends, "y": divisors})
    for operator in ["FloorDiv", "FloorMod", "Mod"]:
        yield Case(operator.lower(), operator, {"x": 5 * normal(30), "y": np.where(numbers.random(30) < 0.5, -1, 1).astype(np.float32) * positive(30)})
    yield Case("divnonan", "DivNoNan", {"x": np.float32([1, 0, -3, 4]), "y": np.float32([0, 0, 2, -8])})
    yield Case("pow", "Pow", {"x": positive(3, 4), "y": normal(4)})
    yield Case("pow_square", "Pow", {"x": normal(3, 4), "y": np.float32(2)}, known=["y"])
    yield Case("clipbyvalue", "ClipByValue", {"t": 2 * normal(9), "clip_value_min": np.float32(-1), "clip_value_max": np.float32(0.5)},
               known=["clip_value_min", "clip_value_max"])  # fmt: skip
    yield Case("clipbyvalue_late", "ClipByValue", {"t": 2 * normal(9), "clip_value_min": np.float32(-1), "clip_value_max": np.float32(0.5)})
    x, y = whole(0, 3, np.float32, 4, 5), whole(0, 3, np.float32, 5)
    for operator in ["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"]:
        yield Case(operator.lower(), operator, {"x": x, "y": y})
        yield Case(f"{operator.lower()}_int32", operator, {"x": x.astype(np.int32), "y": y.astype(np.int32)})
    a, b = numbers.random((3, 4)) < 0.5, numbers.random(4) < 0.5
    yield Case("logicaland", "LogicalAnd", {"x": a, "y": b})
    yield Case("logicalor", "LogicalOr", {"x": a, "y": b})
    yield Case("logicalnot", "LogicalNot", {"x": a})
    yield Case("select", "Select", {"condition": a, "x": normal(3, 4), "y": normal(3, 4)})
    yield Case("select_rows", "Select", {"condition": a[:, 0], "x": normal(3, 4), "y": normal(3, 4)})
    yield Case("select_number", "Select", {"condition": np.bool_(True), "x": normal(3, 4), "y": normal(3, 4)})
    yield Case("selectv2", "SelectV2", {"condition": b, "t": normal(3, 1), "e": np.float32(0.5)})
    for source, to in [(np.float32, np.int32), (np.int32, np.float32), (np.float32, np.bool_), (np.bool_, np.float32),
                       (np.int64, np.int32), (np.uint8, np.float32), (np.float32, np.uint8), (np.int32, np.int8)]:  # fmt: skip
        x = (numbers.random(9) < 0.5) if source == np.bool_ else whole(0, 120, source, 9)
        x = x + source(0.7) if source == np.float32 and to != np.bool_ else x
        yield Case(f"cast_{np.dtype(source).name}_{np.dtype(to).name}", "Cast", {"x": x}, {"DstT": to})


def images(operator, name, x, operands, attributes, key="input", tolerances=TOLERANCES, first=True, image="NHWC"):
    """The same with the channels last and first."""
    yield Case(name, operator, {key: x, **operands}, attributes, known=operands, tolerances=tolerances)
    if first:
        yield Case(f"{name}_first", operator, {key: x, **operands}, attributes, known=operands, tolerances=tolerances, turned=[key])


def convolutions():
    x, odd = normal(2, 9, 8, 6), normal(1, 7, 10, 3)
    for padding in ["SAME", "VALID"]:
        for stride in [1, 2, 3]:
            attributes = {"strides": [1, stride, stride, 1], "padding": padding}
            name = f"{padding.lower()}_{stride}"
            yield from images("Conv2D", f"conv2d_{name}", x, {"filter": normal(3, 4, 6, 5)}, attributes)
            yield from images("DepthwiseConv2dNative", f"depthwise_{name}", odd, {"filter": normal(3, 2, 3, 2)}, attributes)
            inner = {"strides": [1, stride, stride, stride, 1], "padding": padding}
            yield from images("Conv3D", f"conv3d_{name}", normal(1, 5, 6, 7, 3), {"filter": normal(2, 3, 3, 3, 4)}, inner)
        wide = {"strides": [1, 1, 1, 1], "padding": padding, "dilations": [1, 2, 3, 1]}
        yield from images("Conv2D", f"conv2d_{padding.lower()}_dilated", x, {"filter": normal(2, 3, 6, 5)}, wide)
        yield from images("DepthwiseConv2dNative", f"depthwise_{padding.lower()}_dilated", odd, {"filter": normal(3, 3, 3, 1)},
                          {**wide, "dilations": [1, 2, 2, 1]})  # fmt: skip
    uneven = {"strides": [1, 2, 1, 1], "padding": "VALID"}
    yield from images("Conv2D", "conv2d_uneven", x, {"filter": normal(10 - 5, 4, 6, 2)}, uneven)
    explicit = {"strides": [1, 1, 2, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 1, 0, 3, 0, 0]}
    yield from images("Conv2D", "conv2d_explicit", x, {"filter": normal(3, 3, 6, 4)}, explicit)
    yield from images("Conv2D", "conv2d_groups", x, {"filter": normal(3, 3, 2, 9)}, {"strides": [1, 1, 1, 1], "padding": "SAME"})
    yield from images("Conv2D", "conv2d_point", x, {"filter": normal(1, 1, 6, 4)}, {"strides": [1, 1, 1, 1], "padding": "SAME"})
    yield Case("conv2d_weight_at_run_time", "Conv2D", {"input": x, "filter": normal(3, 3, 6, 4)}, {"strides": [1, 1, 1, 1], "padding": "SAME"})



def gradients():
    for padding in ["SAME", "VALID"]:
        for stride, kernel in [(1, 3), (2, 3), (2, 4), (3, 2), (2, 2)]:
            for extent in [(9, 8), (10, 7)]:
                reach = [-(-n // stride) if padding == "SAME" else (n - kernel) // stride + 1 for n in extent]
                name = f"{padding.lower()}_{stride}_{kernel}_{extent[0]}"
                attributes = {"strides": [1, stride, stride, 1], "padding": padding}
                operands = {"input_sizes": ints(2, *extent, 3), "filter": normal(kernel, kernel, 3, 5)}
                yield from images("Conv2DBackpropInput", f"transposed_{name}", normal(2, *reach, 5), operands, attributes, key="out_backprop")
        extent, reach = (5, 6, 4), (3, 3, 2) if padding == "SAME" else (2, 2, 1)
        attributes = {"strides": [1, 2, 2, 2, 1], "padding": padding}
        operands = {"input_sizes": ints(1, *extent, 3), "filter": normal(3, 3, 3, 3, 2)}
        yield from images("Conv3DBackpropInputV2", f"transposed3d_{padding.lower()}", normal(1, *reach, 2), operands, attributes, key="out_backprop")


def pools():
    x = normal(2, 9, 8, 3)
    for operator, key in [("MaxPool", "input"), ("AvgPool", "value")]:
        for padding in ["SAME", "VALID"]:
            for size, stride in [(2, 2), (3, 2), (3, 1), (2, 3)]:
                attributes = {"ksize": [1, size, size, 1], "strides": [1, stride, stride, 1], "padding": padding}
                yield from images(operator, f"{operator.lower()}_{padding.lower()}_{size}_{stride}", x, {}, attributes, key=key)
            attributes = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 2, 1, 2, 1], "padding": padding}
            yield from images(f"{operator}3D", f"{operator.lower()}3d_{padding.lower()}", normal(1, 5, 6, 7, 2), {}, attributes, key="input")
    attributes = {"ksize": [1, 25, 5, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    yield from images("AvgPool", "avgpool_whole", normal(1, 25, 5, 4), {}, attributes, key="value")
    explicit = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 1, 1, 0, 0]}
    yield from images("MaxPool", "maxpool_explicit", x, {}, explicit)
    codes = whole(0, 255, np.uint8, 1, 6, 6, 2)
    yield Case("maxpool_uint8", "MaxPool", {"input": codes}, {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"})
    operands = {"ksize": ints(1, 2, 3, 1), "strides": ints(1, 2, 2, 1)}
    yield Case("maxpoolv2", "MaxPoolV2", {"input": x, **operands}, {"padding": "SAME"}, known=operands)


def normalizations():
    x = normal(2, 4, 5, 3)
    statistics = {"scale": normal(3), "offset": normal(3), "mean": normal(3), "variance": positive(3)}
    for version in ["", "V2", "V3"]:
        attributes = {"epsilon": 0.001, "is_training": False}
        yield from images(f"FusedBatchNorm{version}", f"fusedbatchnorm{version.lower()}", x, statistics, attributes, key="x")
    yield from images("BiasAdd", "biasadd", x, {"bias": normal(3)}, {}, key="value")
    yield Case("biasadd_matrix", "BiasAdd", {"value": normal(4, 3), "bias": normal(3)}, known=["bias"])
    yield Case("biasaddv1", "BiasAddV1", {"value": normal(4, 3), "bias": normal(3)}, known=["bias"])
    yield Case("lrn", "LRN", {"input": normal(1, 3, 4, 9)})
    yield Case("lrn_all", "LRN", {"input": normal(2, 3, 4, 7)}, {"depth_radius": 2, "bias": 1.5, "alpha": 0.25, "beta": 0.75})


def products():
    a, b = normal(4, 5), normal(5, 6)
    for ta in (False, True):
        for tb in (False, True):
            operands = {"a": a.T.copy() if ta else a, "b": b.T.copy() if tb else b}
            attributes = {"transpose_a": ta, "transpose_b": tb}
            yield Case(f"matmul_{ta:d}{tb:d}", "MatMul", operands, attributes)
            yield Case(f"matmul_{ta:d}{tb:d}_weight", "MatMul", operands, attributes, known=["b"])
            x, y = normal(2, 3, 4, 5), normal(2, 3, 5, 6)
            turn = lambda v, is_turned: v.swapaxes(-1, -2).copy() if is_turned else v  # noqa: E731
            for operator in ["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"]:
                operands, attributes = {"x": turn(x, ta), "y": turn(y, tb)}, {"adj_x": ta, "adj_y": tb}
                more = {"Tout": np.float32} if operator.endswith("V3") else {}
                yield Case(f"{operator.lower()}_{ta:d}{tb:d}", operator, operands, {**attributes, **more})
    yield Case("batchmatmulv2_broadcast", "BatchMatMulV2", {"x": normal(2, 3, 4, 5), "y": normal(5, 6)}, known=["y"])
    for name, equation, shapes in [
        ("matrix", "ij,jk->ik", [(3, 4), (4, 5)]), ("attention", "bqhd,bkhd->bhqk", [(2, 3, 2, 4), (2, 5, 2, 4)]),
        ("dense", "abc,cde->abde", [(2, 3, 4), (4, 2, 5)]), ("ellipsis", "...ij,jk->...ik", [(2, 3, 4), (4, 5)]),
        ("sum", "ijk->ik", [(2, 3, 4)]), ("diagonal", "ii->i", [(4, 4)]), ("outer", "i,j->ij", [(3,), (4,)]),
    ]:  # fmt: skip
        yield Case(f"einsum_{name}", "Einsum", {"inputs": [normal(*shape) for shape in shapes]}, {"equation": equation})


def reductions():
    x = normal(2, 3, 4, 5)
    for operator in ["Mean", "Sum", "Max", "Min", "Prod"]:
        for axes in [ints(1, 2), ints(-1), ints(0, 1, 2, 3), np.int32(2), ints()]:
            for keep in (False, True):
                name = "_".join(map(str, np.atleast_1d(axes))) or "none"
                name = f"{operator.lower()}_{name.replace('-', 'm')}_{keep:d}"
                name += "" if axes.ndim else "_number"
                yield Case(name, operator, {"input": x, "axis": axes}, {"keep_dims": keep}, known=["axis"])
    yield Case("sum_int32", "Sum", {"input": whole(-9, 9, np.int32, 3, 4), "axis": ints(1)}, known=["axis"])
    truths = numbers.random((3, 4)) < 0.6
    for operator in ["All", "Any"]:
        yield Case(operator.lower(), operator, {"input": truths, "axis": ints(1)}, {"keep_dims": True}, known=["axis"])
    for operator in ["ArgMax", "ArgMin"]:
        for kind in [np.int32, np.int64]:
            key = np.dtype(kind).name
            yield Case(f"{operator.lower()}_{key}", operator, {"input": x, "dimension": np.int32(-1)}, {"output_type": kind}, known=["dimension"])
        yield Case(f"{operator.lower()}_first", operator, {"input": whole(0, 3, np.float32, 4, 5), "dimension": np.int32(0)}, known=["dimension"])
    for operator in ["Cumsum", "Cumprod"]:
        for exclusive in (False, True):
            for reverse in (False, True):
                attributes = {"exclusive": exclusive, "reverse": reverse}
                yield Case(f"{operator.lower()}_{exclusive:d}{reverse:d}", operator, {"x": normal(3, 5), "axis": np.int32(1)}, attributes, known=["axis"])
    yield Case("topkv2", "TopKV2", {"input": normal(3, 9), "k": np.int32(4)}, known=["k"], results=2)


def shapes():
    x = normal(2, 3, 4)
    yield Case("reshape", "Reshape", {"tensor": x, "shape": ints(4, -1)}, known=["shape"])
    yield Case("reshape_int64", "Reshape", {"tensor": x, "shape": ints(4, 6, kind=np.int64)}, known=["shape"])
    yield Case("reshape_number", "Reshape", {"tensor": normal(1, 1), "shape": ints()}, known=["shape"])
    yield Case("squeeze", "Squeeze", {"input": normal(1, 3, 1, 4)})
    yield Case("squeeze_axes", "Squeeze", {"input": normal(1, 3, 1, 4)}, {"axis": [2]})
    yield Case("squeeze_negative", "Squeeze", {"input": normal(1, 3, 1, 4)}, {"axis": [-2]})
    for axis in (0, 2, -1, -2):
        yield Case(f"expanddims_{axis}".replace("-", "m"), "ExpandDims", {"input": x, "axis": np.int32(axis)}, known=["axis"])
    yield Case("transpose", "Transpose", {"x": x, "perm": ints(2, 0, 1)}, known=["perm"])
    yield Case("broadcastto", "BroadcastTo", {"input": normal(3, 1), "shape": ints(2, 3, 4)}, known=["shape"])
    paddings = np.int32([[0, 0], [1, 2], [3, 0]])
    yield Case("pad", "Pad", {"input": x, "paddings": paddings}, known=["paddings"])
    yield Case("padv2", "PadV2", {"input": x, "paddings": paddings, "constant_values": np.float32(-1.5)}, known=["paddings", "constant_values"])
    yield Case("pad_int32", "Pad", {"input": whole(1, 9, np.int32, 2, 3, 4), "paddings": paddings}, known=["paddings"])
    for mode, paddings in [("REFLECT", np.int32([[0, 0], [2, 1], [3, 0]])), ("SYMMETRIC", np.int32([[1, 0], [3, 1], [4, 2]]))]:
        yield Case(f"mirrorpad_{mode.lower()}", "MirrorPad", {"input": x, "paddings": paddings}, {"mode": mode}, known=["paddings"])
    yield Case("shape", "Shape", {"input": x})
    yield Case("shape_int64", "Shape", {"input": x}, {"out_type": np.int64})
    yield Case("shapen", "ShapeN", {"input": [x, normal(5)]}, results=2)
    yield Case("size", "Size", {"input": x})
    yield Case("rank", "Rank", {"input": x})
    yield Case("fill", "Fill", {"dims": ints(2, 3), "value": np.float32(1.5)}, known=["dims", "value"])
    yield Case("fill_late", "Fill", {"dims": ints(2, 3), "value": np.float32(1.5)}, known=["dims"])
    yield Case("zeroslike", "ZerosLike", {"x": x})
    yield Case("oneslike", "OnesLike", {"x": x})
    yield Case("oneslike_int32", "OnesLike", {"x": whole(2, 9, np.int32, 4)})
    yield Case("range", "Range", {"start": np.int32(3), "limit": np.int32(18), "delta": np.int32(4)}, known=["start", "limit", "delta"])
    yield Case("range_float", "Range", {"start": np.float32(0), "limit": np.float32(2), "delta": np.float32(0.5)}, known=["start", "limit", "delta"])
    yield Case("tile", "Tile", {"input": x, "multiples": ints(1, 3, 2)}, known=["multiples"])
    for axis in (-1, 0, 1):
        operands = {"indices": ints(0, 2, -1, 7), "depth": np.int32(3), "on_value": np.float32(2), "off_value": np.float32(-1)}
        yield Case(f"onehot_{axis}".replace("-", "m"), "OneHot", operands, {"axis": axis}, known=["depth", "on_value", "off_value"])


def parts():
    x = normal(4, 5, 6)
    yield Case("concatv2", "ConcatV2", {"values": [normal(2, 3), normal(2, 4)], "axis": np.int32(-1)}, known=["axis"])
    yield Case("concat", "Concat", {"concat_dim": np.int32(0), "values": [normal(2, 3), normal(1, 3)]}, known=["concat_dim"])
    yield Case("split", "Split", {"axis": np.int32(1), "value": normal(3, 6)}, {"num_split": 3}, known=["axis"], results=3)
    yield Case("split_one", "Split", {"axis": np.int32(1), "value": normal(3, 6)}, {"num_split": 1}, known=["axis"])
    operands = {"value": normal(3, 6), "size_splits": ints(1, -1, 2), "axis": np.int32(-1)}
    yield Case("splitv", "SplitV", operands, {"num_split": 3}, known=["size_splits", "axis"], results=3)
    for axis in (0, 1, -1):
        yield Case(f"pack_{axis}".replace("-", "m"), "Pack", {"values": [normal(2, 3), normal(2, 3)]}, {"axis": axis})
        yield Case(f"unpack_{axis}".replace("-", "m"), "Unpack", {"value": normal(2, 2, 2)}, {"axis": axis, "num": 2}, results=2)
    yield Case("pack_one", "Pack", {"values": [normal(2, 3)]}, {"axis": 1})
    yield Case("unpack_one", "Unpack", {"value": normal(3, 1)}, {"axis": 1, "num": 1})
    yield Case("slice", "Slice", {"input": x, "begin": ints(1, 0, 2), "size": ints(2, -1, 3)}, known=["begin", "size"])
    yield Case("reversev2", "ReverseV2", {"tensor": x, "axis": ints(0, -1)}, known=["axis"])
    for name, begin, end, strides, masks in [
        ("plain", [1, 0, 2], [3, 4, 5], [1, 2, 1], {}), ("short", [1], [3], [1], {}),
        ("negative", [-3, -1, 5], [-1, -5, 0], [1, -2, -1], {}),
        ("begin_mask", [1, 9, 2], [3, 4, 5], [1, 1, 1], {"begin_mask": 2}),
        ("end_mask", [1, 0, 2], [3, 1, 0], [1, 2, 1], {"end_mask": 6}),
        ("both_backwards", [0, 0, 0], [0, 0, 0], [1, -1, -2], {"begin_mask": 7, "end_mask": 7}),
        ("shrink", [1, 0, -1], [2, 5, 0], [1, 1, 1], {"shrink_axis_mask": 5}),
        ("shrink_first", [0], [1], [1], {"shrink_axis_mask": 1}),
        ("new_axis", [0, 0, 1], [0, 3, 4], [1, 1, 1], {"new_axis_mask": 1}),
        ("ellipsis", [0, 1], [0, 4], [1, 2], {"ellipsis_mask": 1}),
        ("ellipsis_middle", [1, 0, -2], [3, 0, 9], [1, 1, 1], {"ellipsis_mask": 2}),
        ("all", [0, 0, 0, 1], [0, 0, 1, 5], [1, 1, 1, 2], {"ellipsis_mask": 1, "new_axis_mask": 2, "shrink_axis_mask": 4}),
        ("new_and_shrink", [0, 0, 1], [1, 0, 5], [1, 1, 3], {"shrink_axis_mask": 1, "new_axis_mask": 2}),
        ("empty_ellipsis", [0, 0, 1, 2], [0, 4, 3, 6], [1, 1, 1, 1], {"ellipsis_mask": 1}),
    ]:  # fmt: skip
        operands = {"input": x, "begin": ints(*begin), "end": ints(*end), "strides": ints(*strides)}
        yield Case(f"stridedslice_{name}", "StridedSlice", operands, masks, known=["begin", "end", "strides"])
    yield Case("gather", "Gather", {"params": x, "indices": ints(3, 0, 3)}, known=["indices"])
    yield Case("gather_late", "Gather", {"params": x, "indices": ints(3, 0, 3)})
    for axis in (0, 1, -1):
        yield Case(f"gatherv2_{axis}".replace("-", "m"), "GatherV2", {"params": x, "indices": np.int32([[3, 0], [1, 1]]), "axis": np.int32(axis)}, known=["indices", "axis"])
    batches = {"params": normal(3, 5, 2), "indices": whole(0, 5, np.int32, 3, 4), "axis": np.int32(1)}
    yield Case("gatherv2_batch", "GatherV2", batches, {"batch_dims": 1}, known=["indices", "axis"])
    yield Case("gathernd", "GatherNd", {"params": x, "indices": np.int32([[1, 2], [3, 0]])}, known=["indices"])
    yield Case("scatternd", "ScatterNd", {"indices": np.int32([[1], [3], [1]]), "updates": normal(3, 2), "shape": ints(4, 2)}, known=["indices", "shape"])
    for operator in ["TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin"]:
        operands = {"tensor": normal(4, 2), "indices": np.int32([[1], [3]]), "updates": normal(2, 2)}
        yield Case(operator.lower(), operator, operands, known=["indices"])
    yield Case("where", "Where", {"condition": numbers.random((3, 4)) < 0.5})


def blocks():
    x = normal(2, 6, 9, 4)
    block = {"block_shape": ints(2, 3)}
    for name, paddings in [("plain", [[0, 0], [0, 0]]), ("padded", [[1, 1], [2, 1]])]:
        operands = {"input": x, **block, "paddings": np.int32(paddings)}
        yield Case(f"spacetobatchnd_{name}", "SpaceToBatchND", operands, known=["block_shape", "paddings"])
        operands = {"input": normal(12, 3, 4, 2), **block, "crops": np.int32(paddings)}
        yield Case(f"batchtospacend_{name}", "BatchToSpaceND", operands, known=["block_shape", "crops"])
    operands = {"input": normal(2, 6, 3), "block_shape": ints(2), "paddings": np.int32([[2, 0]])}
    yield Case("spacetobatchnd_line", "SpaceToBatchND", operands, known=["block_shape", "paddings"])
    yield Case("spacetobatch", "SpaceToBatch", {"input": normal(1, 4, 6, 2), "paddings": np.int32([[1, 1], [0, 0]])}, {"block_size": 2}, known=["paddings"])
    yield Case("batchtospace", "BatchToSpace", {"input": normal(4, 2, 3, 2), "crops": np.int32([[1, 0], [0, 2]])}, {"block_size": 2}, known=["crops"])
    yield from images("SpaceToDepth", "spacetodepth", normal(2, 4, 6, 3), {}, {"block_size": 2})
    yield from images("DepthToSpace", "depthtospace", normal(2, 3, 4, 12), {}, {"block_size": 2})


def resizes():
    for name, operator in [("bilinear", "ResizeBilinear"), ("nearest", "ResizeNearestNeighbor"), ("bicubic", "ResizeBicubic")]:
        for corners, centers in [(False, False), (True, False), (False, True)]:
            for extent, size in [((4, 5), (8, 10)), ((4, 5), (7, 13)), ((9, 8), (4, 3)), ((3, 4), (1, 1)), ((10, 10), (30, 30))]:
                attributes = {"align_corners": corners, "half_pixel_centers": centers}
                case = f"resize_{name}_{corners:d}{centers:d}_{size[0]}_{size[1]}"
                # TensorFlow takes the weights of a cubic from a table of 1024 steps.
                tolerances = (1e-3, 4e-3) if name == "bicubic" else TOLERANCES
                yield Case(case, operator, {"images": normal(1, *extent, 3), "size": ints(*size)}, attributes, known=["size"], tolerances=tolerances)
    yield Case("resize_bilinear_uint8", "ResizeBilinear", {"images": whole(0, 255, np.uint8, 1, 4, 4, 2), "size": ints(6, 7)}, known=["size"])
    yield Case("resize_nearest_uint8", "ResizeNearestNeighbor", {"images": whole(0, 255, np.uint8, 1, 4, 4, 2), "size": ints(8, 8)}, known=["size"])


def grids():
    x = 4 * normal(3, 50)
    for bits, narrow in [(8, False), (8, True), (4, False)]:
        attributes = {"num_bits": bits, "narrow_range": narrow}
        name = f"{bits}_{narrow:d}"
        yield Case(f"fakequant_args_{name}", "FakeQuantWithMinMaxArgs", {"inputs": x}, {**attributes, "min": -2.3, "max": 5.1})
        operands = {"inputs": x, "min": np.float32(-1.7), "max": np.float32(3.1)}
        yield Case(f"fakequant_vars_{name}", "FakeQuantWithMinMaxVars", operands, attributes, known=["min", "max"])
        operands = {"inputs": 4 * normal(30, 3), "min": np.float32([-1, -2.5, 0]), "max": np.float32([1, 0.5, 6])}
        yield Case(f"fakequant_channels_{name}", "FakeQuantWithMinMaxVarsPerChannel", operands, attributes, known=["min", "max"])
    yield Case("fakequant_positive", "FakeQuantWithMinMaxVars", {"inputs": x, "min": np.float32(0), "max": np.float32(6)}, known=["min", "max"])
    for signed in (True, False):
        for mode in ["HALF_TO_EVEN", "HALF_UP"]:
            low = np.float32(-3.1 if signed else 0)
            attributes = {"signed_input": signed, "num_bits": 8, "range_given": True, "round_mode": mode}
            operands = {"input": x, "input_min": low, "input_max": np.float32(3.7)}
            yield Case(f"quantize_{signed:d}_{mode.lower()}", "QuantizeAndDequantizeV2", operands, attributes, known=["input_min", "input_max"])
    operands = {"input": x, "input_min": np.float32(-2), "input_max": np.float32(3)}
    yield Case("quantizev4", "QuantizeAndDequantizeV4", operands, {"range_given": True, "num_bits": 6}, known=["input_min", "input_max"])
    operands = {"input": x, "input_min": np.float32(-3), "input_max": np.float32(2), "num_bits": np.int32(8)}
    attributes = {"signed_input": True, "range_given": True, "narrow_range": True}
    yield Case("quantizev3", "QuantizeAndDequantizeV3", operands, attributes, known=["input_min", "input_max", "num_bits"])


FAMILIES = [functions, arithmetic, convolutions, gradients, pools, normalizations, products, reductions, shapes, parts, blocks, resizes, grids]


def built(case, is_turned):
    """The graph of a case, its placeholders with their values, and its results."""
    graph, feeds = tf.Graph(), []

    def operand(key, value, index=""):
        if key in case.known:
            return tf.constant(value, name=f"{key}{index}")
        if is_turned and key in case.turned:
            value = np.ascontiguousarray(value.transpose(FIRST[value.ndim]))
        placeholder = tf.compat.v1.placeholder(value.dtype, value.shape, name=f"{key}{index}")
        feeds.append((placeholder, value))
        return placeholder

    with graph.as_default():
        operands = {}
        for key, value in case.operands.items():
            is_list = isinstance(value, list)
            operands[key] = [operand(key, v, k) for k, v in enumerate(value)] if is_list else operand(key, np.asarray(value))
        attributes = dict(case.attributes)
        if is_turned:
            attributes.update(turned(case))
            for key in ["input_sizes"]:
                if key in operands:
                    value = case.operands[key]
                    operands[key] = tf.constant(value[FIRST[len(value)]], name=f"{key}_first")
        getattr(tf.raw_ops, case.operator)(**operands, **attributes, name="node")
    return graph, feeds


def turned(case):
    """The attributes for the channels first."""
    rank = max(value.ndim for value in case.operands.values() if isinstance(value, np.ndarray))
    attributes = {"data_format": {4: "NCHW", 5: "NCDHW"}[rank]}
    for key in ["strides", "dilations", "ksize"]:
        if key in case.attributes:
            attributes[key] = [case.attributes[key][axis] for axis in FIRST[rank]]
    if "explicit_paddings" in case.attributes:
        pairs = np.reshape(case.attributes["explicit_paddings"], (-1, 2))
        attributes["explicit_paddings"] = [int(n) for n in pairs[FIRST[rank]].ravel()]
    return attributes


def write(folder):
    seen = set()
    for family in FAMILIES:
        for case in family():
            if case.name in seen:
                raise SystemExit(f"{case.name} is there twice")
            seen.add(case.name)
            graph, feeds = built(case, False)
            fetches = [f"node:{k}" for k in range(case.results)]
            results = tensorflow_cases.run(graph, feeds, fetches)
            if case.turned:
                graph, feeds = built(case, True)
                results = [np.ascontiguousarray(r.transpose(FIRST[r.ndim])) for r in results]
            inputs = [value for _, value in feeds]
            # What constants alone decide on is no output by itself.
            settings = [] if inputs else [f"end {name}" for name in fetches]
            definition = graph.as_graph_def().SerializeToString(deterministic=True)
            folder.add(case.name, definition, case.tolerances, case.operator, inputs, results, settings)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    with tensorflow_cases.folder(parser.parse_args().folder, __file__) as folder:
        if folder:
            write(folder)


if __name__ == "__main__":
    main()
