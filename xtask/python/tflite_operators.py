#!/usr/bin/env python3
"""Write TFLite files of one operator each, with what LiteRT computes of them. Started by `cargo xtask oracles`.

Each operator that is read has cases here: with its defaults, with each of its options, and with its operands as constants where a
model has them so. A folder has what `litert_cases.py` says.
"""

import argparse
from pathlib import Path

import litert
import litert_cases
import numpy as np
from litert import OpResolverType, Tensor, activation, computed, options, padding, result, schema, window, written

TOLERANCES = (1e-5, 1e-5)
# Without a reference kernel under that name, or with one that leaves out the last channel of a window.
OPTIMIZED = {"CEIL", "ROUND", "ELU", "LOCAL_RESPONSE_NORMALIZATION", "SEGMENT_SUM"}

numbers = np.random.default_rng(7)


def normal(*shape):
    return numbers.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return numbers.uniform(0.1, 3, shape).astype(np.float32)


def whole(low, high, kind, *shape):
    return numbers.integers(low, high, shape).astype(kind)


def ints(*values, kind=np.int32):
    return np.array(values, kind)


class Case:
    """An operator on arrays; those behind the first `free` are constants of the file. Results are of the types `kinds`, and on `grid`
    where they are codes."""

    def __init__(self, name, operator, arrays, made=None, free=1, kinds=("float32",), order=None, tolerances=TOLERANCES,
                 made_of=(1,), grid=(None, 0), **more):  # fmt: skip
        self.name, self.operator, self.made, self.kinds, self.order = name, operator, made, kinds, order
        tensors = [array if isinstance(array, Tensor) else Tensor(array) for array in arrays]
        self.inputs, self.constants, self.grid = tensors[:free], tensors[free:], grid
        self.tolerances, self.shape, self.more = tolerances, made_of, more

    def write(self):
        """The file and the results: written once to know the shapes of these, and once with them."""
        resolver = OpResolverType.BUILTIN if self.operator in OPTIMIZED else OpResolverType.BUILTIN_REF

        def file(outputs):
            return written(self.operator, self.made, self.inputs, self.constants, outputs, self.order, **self.more)

        results = computed(file([result(self.shape, kind, *self.grid) for kind in self.kinds]), self.inputs, resolver)
        shapes = [result(array.shape, array.dtype, *self.grid) for array in results]
        return file(shapes), results


def functions():
    for operator in ["ABS", "NEG", "EXP", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "SIGN", "LOGISTIC", "TANH", "RELU", "RELU6",
                     "RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH", "ELU", "SQUARE"]:  # fmt: skip
        made = {"ABS": "Abs", "NEG": "Neg", "EXP": "Exp", "COS": "Cos", "SQUARE": "Square", "HARD_SWISH": "HardSwish"}.get(operator)
        yield Case(operator.lower(), operator, [3 * normal(2, 3, 7)], made and options(f"{made}Options"))
    for operator in ["LOG", "SQRT", "RSQRT"]:
        yield Case(operator.lower(), operator, [positive(2, 9)])
    for approximate in [False, True]:
        yield Case(f"gelu_{approximate}", "GELU", [2 * normal(3, 5)], options("GeluOptions", approximate=approximate))
    yield Case("leaky_relu", "LEAKY_RELU", [normal(3, 5)], options("LeakyReluOptions", alpha=0.3))
    yield Case("prelu", "PRELU", [normal(1, 3, 4, 5), normal(1, 1, 5)])
    yield Case("prelu_one", "PRELU", [normal(1, 3, 4, 5), np.full((1, 1, 1), 0.2, np.float32)])
    yield Case("fake_quant", "FAKE_QUANT", [np.array([[0.5, -0.25, 0.0]], np.float32)],
               options("FakeQuantOptions", min=-1.0, max=0.984375, numBits=7))  # fmt: skip
    for beta in [1.0, 0.5]:
        yield Case(f"softmax_{beta}", "SOFTMAX", [3 * normal(2, 4, 6)], options("SoftmaxOptions", beta=beta))
    yield Case("log_softmax", "LOG_SOFTMAX", [3 * normal(2, 4, 6)], options("LogSoftmaxOptions"))
    yield Case("l2_normalization", "L2_NORMALIZATION", [normal(2, 3, 4, 5)], options("L2NormOptions"))
    norm = options("LocalResponseNormalizationOptions", radius=2, bias=1.5, alpha=0.3, beta=0.75)
    yield Case("local_response", "LOCAL_RESPONSE_NORMALIZATION", [normal(2, 3, 4, 9)], norm)


def arithmetic():
    for operator, name in [("ADD", "Add"), ("SUB", "Sub"), ("MUL", "Mul"), ("DIV", "Div")]:
        for word in ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"]:
            made = options(f"{name}Options", fusedActivationFunction=activation(word))
            yield Case(f"{operator.lower()}_{word.lower()}", operator, [4 * normal(2, 3, 4), 1 + positive(2, 3, 4)], made, free=2)
        made = options(f"{name}Options")
        yield Case(f"{operator.lower()}_broadcast", operator, [normal(2, 1, 4), positive(3, 1)], made)
        ints_ = [whole(-50, 50, np.int32, 3, 4), whole(1, 9, np.int32, 4)]
        yield Case(f"{operator.lower()}_ints", operator, ints_, made, free=2, kinds=["int32"], version=2 if operator == "DIV" else 1)
    for operator in ["MAXIMUM", "MINIMUM"]:
        made = options("MaximumMinimumOptions")
        yield Case(operator.lower(), operator, [normal(2, 3, 4), normal(4)], made, free=2)
        yield Case(f"{operator.lower()}_ints", operator, [whole(-9, 9, np.int32, 3, 4)] * 2, made, free=2, kinds=["int32"])
    yield Case("pow", "POW", [positive(3, 4), normal(3, 4)], options("PowOptions"), free=2)
    yield Case("squared_difference", "SQUARED_DIFFERENCE", [normal(3, 4), normal(4)], options("SquaredDifferenceOptions"), free=2)
    for operator, name in [("FLOOR_DIV", "FloorDiv"), ("FLOOR_MOD", "FloorMod")]:
        made = options(f"{name}Options")
        yield Case(f"{operator.lower()}_ints", operator, [whole(-50, 50, np.int32, 30), ints(*[3, -4, 7] * 10)], made, free=2,
                   kinds=["int32"])  # fmt: skip
        floats = [5 * normal(30), np.array([2.5, -1.5, 0.75] * 10, np.float32)]
        yield Case(f"{operator.lower()}_floats", operator, floats, made, free=2)
    yield Case("add_n", "ADD_N", [normal(2, 3), normal(2, 3), normal(2, 3)], options("AddNOptions"), free=3)
    yield Case("bitwise_xor", "BITWISE_XOR", [whole(0, 99, np.int32, 9), whole(0, 99, np.int32, 9)], options("BitwiseXorOptions"),
               free=2, kinds=["int32"])  # fmt: skip


def convolutions():
    image = normal(2, 7, 9, 4)
    for pad in ["SAME", "VALID"]:
        for stride, dilation in [((1, 1), (1, 1)), ((2, 3), (1, 1)), ((1, 1), (2, 1))]:
            name = f"{pad.lower()}_{stride[0]}{stride[1]}_{dilation[0]}{dilation[1]}"
            more = {"dilationHFactor": dilation[0], "dilationWFactor": dilation[1]}
            made = window("Conv2DOptions", stride, pad, **more)
            yield Case(f"conv_2d_{name}", "CONV_2D", [image, normal(6, 3, 2, 4), normal(6)], made)
            made = window("DepthwiseConv2DOptions", stride, pad, depthMultiplier=2, **more)
            yield Case(f"depthwise_{name}", "DEPTHWISE_CONV_2D", [image, normal(1, 3, 2, 8), normal(8)], made)
    for word in ["RELU", "RELU6", "RELU_N1_TO_1"]:
        made = window("Conv2DOptions", fusedActivationFunction=activation(word))
        yield Case(f"conv_2d_{word.lower()}", "CONV_2D", [image, normal(6, 1, 1, 4), normal(6)], made)
    yield Case("conv_2d_groups", "CONV_2D", [image, normal(6, 3, 3, 2), normal(6)], window("Conv2DOptions", padding="SAME"))
    for pad in ["SAME", "VALID"]:
        made = options("Conv3DOptions", padding=padding(pad), strideD=1, strideH=2, strideW=1)
        yield Case(f"conv_3d_{pad.lower()}", "CONV_3D", [normal(1, 4, 5, 6, 3), normal(2, 3, 2, 3, 5), normal(5)], made)
        for stride in [(1, 1), (2, 2), (3, 2)]:
            for more in [0, 1] if pad == "SAME" else [0]:
                h, w = (4 * s - more if pad == "SAME" else 3 * s + 3 for s in stride)
                if pad == "SAME" and more and 1 in stride:
                    continue
                made = options("TransposeConvOptions", padding=padding(pad), strideH=stride[0], strideW=stride[1])
                arrays = [normal(2, 4, 4, 3), ints(2, h, w, 5), normal(5, 3, 3, 3), normal(5)]
                yield Case(f"transpose_conv_{pad.lower()}_{stride[0]}{stride[1]}_{more}", "TRANSPOSE_CONV", arrays, made,
                           order=[1, 2, 0, 3], version=3)  # fmt: skip
    for operator in ["AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"]:
        for pad in ["SAME", "VALID"]:
            made = window("Pool2DOptions", (2, 1), pad, filterHeight=3, filterWidth=2)
            yield Case(f"{operator.lower()}_{pad.lower()}", operator, [image], made)


def products():
    for word in ["NONE", "RELU6"]:
        made = options("FullyConnectedOptions", fusedActivationFunction=activation(word))
        yield Case(f"fully_connected_{word.lower()}", "FULLY_CONNECTED", [normal(3, 5), normal(4, 5), normal(4)], made)
    yield Case("fully_connected_flat", "FULLY_CONNECTED", [normal(2, 1, 1, 5), normal(4, 5)], options("FullyConnectedOptions"),
               order=[0, 1, -1])  # fmt: skip
    yield Case("fully_connected_rows", "FULLY_CONNECTED", [normal(2, 15), normal(4, 5), normal(4)], options("FullyConnectedOptions"))
    made = options("FullyConnectedOptions", keepNumDims=True)
    yield Case("fully_connected_kept", "FULLY_CONNECTED", [normal(2, 3, 5), normal(4, 5), normal(4)], made, version=5)
    yield Case("fully_connected_late", "FULLY_CONNECTED", [normal(3, 5), normal(4, 5)], options("FullyConnectedOptions"), free=2,
               order=[0, 1, -1])  # fmt: skip
    for x, y in [(False, False), (True, False), (False, True)]:
        made = options("BatchMatMulOptions", adjX=x, adjY=y)
        arrays = [normal(2, 3, 5, 4) if x else normal(2, 3, 4, 5), normal(2, 3, 6, 5) if y else normal(2, 3, 5, 6)]
        yield Case(f"batch_matmul_{x}_{y}", "BATCH_MATMUL", arrays, made, free=2)


def shapes():
    x = normal(2, 3, 4, 5)
    yield Case("reshape", "RESHAPE", [x, ints(6, -1)], options("ReshapeOptions"))
    yield Case("reshape_option", "RESHAPE", [x], options("ReshapeOptions", newShape=[2, -1, 5]))
    yield Case("squeeze", "SQUEEZE", [normal(2, 1, 3, 1)], options("SqueezeOptions", squeezeDims=[1]))
    yield Case("squeeze_all", "SQUEEZE", [normal(2, 1, 3, 1)], options("SqueezeOptions", squeezeDims=[]))
    for axis in [0, -1, 2]:
        yield Case(f"expand_dims_{axis}", "EXPAND_DIMS", [x, ints(axis)], options("ExpandDimsOptions"))
    yield Case("transpose", "TRANSPOSE", [x, ints(3, 0, 2, 1)], options("TransposeOptions"))
    yield Case("broadcast_to", "BROADCAST_TO", [normal(3, 1), ints(2, 3, 4)], options("BroadcastToOptions"))
    yield Case("shape", "SHAPE", [x], options("ShapeOptions", outType=schema.TensorType.INT32), kinds=["int32"])
    yield Case("shape_long", "SHAPE", [x], options("ShapeOptions", outType=schema.TensorType.INT64), kinds=["int64"])
    yield Case("rank", "RANK", [x], options("RankOptions"), kinds=["int32"])
    yield Case("zeros_like", "ZEROS_LIKE", [x], options("ZerosLikeOptions"))
    yield Case("zeros_like_ints", "ZEROS_LIKE", [whole(0, 9, np.int32, 3)], options("ZerosLikeOptions"), kinds=["int32"])
    yield Case("fill", "FILL", [np.float32(2.5), ints(2, 3)], options("FillOptions"), order=[1, 0])
    yield Case("slice", "SLICE", [x, ints(0, 1, 1, 2), ints(2, -1, 2, 3)], options("SliceOptions"), made_of=(2, 2, 2, 3))
    for name, begin, end, strides, masks in [
        ("plain", (0, 1, 0, 4), (2, 3, 4, 0), (1, 1, 2, -1), {}),
        ("negative", (-2, -2, -3, -4), (2, 3, -1, -1), (1, 1, 1, 2), {}),
        ("masks", (1, 1, 1, 1), (2, 2, 2, 2), (1, 1, 1, 2), {"beginMask": 0b1001, "endMask": 0b0110}),
        ("shrink", (1, 0, -1, 0), (2, 3, 0, 5), (1, 1, 1, 1), {"shrinkAxisMask": 0b0101}),
        ("ellipsis", (1, 0, 2), (2, 0, 4), (1, 1, 1), {"ellipsisMask": 0b010}),
        ("new", (0, 0, 1), (0, 2, 3), (1, 1, 1), {"newAxisMask": 0b001}),
        ("backwards", (0, -1, 0, 0), (2, -9, 4, 5), (1, -1, 1, 1), {}),
    ]:
        made = options("StridedSliceOptions", **masks)
        yield Case(f"strided_slice_{name}", "STRIDED_SLICE", [x, ints(*begin), ints(*end), ints(*strides)], made)
    yield Case("split", "SPLIT", [normal(4, 6), ints(1)], options("SplitOptions", numSplits=3), order=[1, 0], kinds=["float32"] * 3)
    yield Case("split_v", "SPLIT_V", [normal(4, 6), ints(1, -1, 2), ints(-1)], options("SplitVOptions", numSplits=3),
               kinds=["float32"] * 3)  # fmt: skip
    yield Case("unpack", "UNPACK", [normal(4, 3, 2)], options("UnpackOptions", num=3, axis=1), kinds=["float32"] * 3)
    yield Case("reverse", "REVERSE_V2", [x, ints(2)], options("ReverseV2Options"))
    for axis in [0, -1]:
        yield Case(f"concatenation_{axis}", "CONCATENATION", [normal(2, 3), normal(2, 3)], options("ConcatenationOptions", axis=axis), free=2)
    yield Case("pack", "PACK", [normal(2, 3), normal(2, 3)], options("PackOptions", valuesCount=2, axis=1), free=2)
    yield Case("tile", "TILE", [normal(2, 3), ints(2, 3)], options("TileOptions"))
    amounts = np.array([[0, 0], [1, 2], [0, 1], [3, 0]], np.int32)
    yield Case("pad", "PAD", [x, amounts], options("PadOptions"))
    yield Case("padv2", "PADV2", [x, amounts, np.float32(1.5)], options("PadV2Options"))
    amounts = np.array([[0, 0], [1, 2], [0, 1], [3, 0]], np.int32)
    for mode in [0, 1]:
        yield Case(f"mirror_pad_{mode}", "MIRROR_PAD", [x, amounts], options("MirrorPadOptions", mode=mode))
    yield Case("depth_to_space", "DEPTH_TO_SPACE", [normal(2, 3, 4, 8)], options("DepthToSpaceOptions", blockSize=2))
    yield Case("space_to_depth", "SPACE_TO_DEPTH", [normal(2, 4, 6, 3)], options("SpaceToDepthOptions", blockSize=2))
    amounts = np.array([[1, 1], [0, 2]], np.int32)
    yield Case("space_to_batch", "SPACE_TO_BATCH_ND", [normal(1, 4, 4, 3), ints(2, 3), amounts], options("SpaceToBatchNDOptions"))
    yield Case("space_to_batch_line", "SPACE_TO_BATCH_ND", [normal(2, 4, 3), ints(2), amounts[:1]], options("SpaceToBatchNDOptions"))
    amounts = np.array([[1, 0], [0, 2]], np.int32)
    yield Case("batch_to_space", "BATCH_TO_SPACE_ND", [normal(6, 3, 2, 3), ints(2, 3), amounts], options("BatchToSpaceNDOptions"))
    yield Case("batch_to_space_line", "BATCH_TO_SPACE_ND", [normal(6, 3, 2), ints(2), amounts[:1]], options("BatchToSpaceNDOptions"))


def places():
    x = normal(3, 4, 5)
    yield Case("gather", "GATHER", [x, ints(2, 0)], options("GatherOptions", axis=1))
    yield Case("gather_rank", "GATHER", [x, np.array([[2, 0], [1, 1]], np.int32)], options("GatherOptions", axis=-1))
    yield Case("gather_late", "GATHER", [x, ints(2, 0)], options("GatherOptions", axis=0), free=2)
    made = options("GatherOptions", axis=1, batchDims=1)
    yield Case("gather_batch", "GATHER", [x, np.array([[2, 0], [1, 1], [3, 2]], np.int32)], made, version=5)
    yield Case("gather_nd", "GATHER_ND", [x, np.array([[2, 0], [1, 1]], np.int32)], options("GatherNdOptions"))
    yield Case("one_hot", "ONE_HOT", [ints(1, 0, 3), ints(4)[0], np.float32(2), np.float32(-1)], options("OneHotOptions", axis=-1))
    yield Case("one_hot_first", "ONE_HOT", [ints(1, 0, 3), ints(4)[0], np.float32(2), np.float32(-1)], options("OneHotOptions", axis=0))
    yield Case("where", "WHERE", [normal(3, 4) > 0], options("WhereOptions"), kinds=["int64"])
    yield Case("range", "RANGE", [ints(2)[0], ints(11)[0], ints(3)[0]], options("RangeOptions"), free=3, kinds=["int32"])
    for operator, name in [("ARG_MAX", "ArgMax"), ("ARG_MIN", "ArgMin")]:
        for axis, kind in [(1, "int32"), (-1, "int64")]:
            made = options(f"{name}Options", outputType=getattr(schema.TensorType, kind.upper()))
            yield Case(f"{operator.lower()}_{axis}", operator, [x, ints(axis)], made, kinds=[kind])
    yield Case("topk", "TOPK_V2", [normal(3, 9), ints(4)[0]], options("TopKV2Options"), kinds=["float32", "int32"])
    for exclusive in [False, True]:
        for reverse in [False, True]:
            made = options("CumsumOptions", exclusive=exclusive, reverse=reverse)
            yield Case(f"cumsum_{exclusive}_{reverse}", "CUMSUM", [x, ints(1)[0]], made)


def reductions():
    for operator in ["MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"]:
        for keeps in [False, True]:
            made = options("ReducerOptions", keepDims=keeps)
            yield Case(f"{operator.lower()}_{keeps}", operator, [normal(2, 3, 4, 5), ints(1, 2)], made)
        yield Case(f"{operator.lower()}_negative", operator, [normal(2, 3, 4), ints(-1)], options("ReducerOptions"))
    for operator in ["REDUCE_ANY", "REDUCE_ALL"]:
        yield Case(operator.lower(), operator, [normal(4, 5) > 0.5, ints(1)], options("ReducerOptions"), kinds=["bool"])


def truths():
    a = whole(0, 3, np.float32, 4, 5)
    for operator, name in [("EQUAL", "Equal"), ("NOT_EQUAL", "NotEqual"), ("LESS", "Less"), ("LESS_EQUAL", "LessEqual"),
                           ("GREATER", "Greater"), ("GREATER_EQUAL", "GreaterEqual")]:  # fmt: skip
        made = options(f"{name}Options")
        yield Case(operator.lower(), operator, [a, whole(0, 3, np.float32, 5)], made, free=2, kinds=["bool"])
        yield Case(f"{operator.lower()}_ints", operator, [a.astype(np.int32), whole(0, 3, np.int32, 5)], made, free=2, kinds=["bool"])
    for operator, name in [("LOGICAL_AND", "LogicalAnd"), ("LOGICAL_OR", "LogicalOr")]:
        yield Case(operator.lower(), operator, [a > 1, a < 1], options(f"{name}Options"), free=2, kinds=["bool"])
    yield Case("logical_not", "LOGICAL_NOT", [a > 1], options("LogicalNotOptions"), kinds=["bool"])
    yield Case("select", "SELECT", [a > 1, normal(4, 5), normal(4, 5)], options("SelectOptions"), free=3)
    yield Case("select_rows", "SELECT", [a[:, 0] > 1, normal(4, 5), normal(4, 5)], options("SelectOptions"), free=3)
    yield Case("select_v2", "SELECT_V2", [a[:, :1] > 1, normal(4, 5), normal(5)], options("SelectV2Options"), free=3)
    for kind, other in [("float32", "int32"), ("int32", "float32"), ("float32", "bool"), ("bool", "int64"), ("int32", "int8")]:
        made = options("CastOptions")
        made.inDataType, made.outDataType = (getattr(schema.TensorType, k.upper()) for k in (kind, other))
        yield Case(f"cast_{kind}_{other}", "CAST", [(3 * normal(3, 4)).astype(kind)], made, kinds=[other])
    for kind, zero in [("int8", 3), ("uint8", 130), ("int16", 0)]:
        codes = Tensor(whole(0, 120, kind, 3, 4), 0.05, zero)
        yield Case(f"dequantize_{kind}", "DEQUANTIZE", [codes], options("DequantizeOptions"), version=3 if kind == "int16" else 2)
        yield Case(f"quantize_{kind}", "QUANTIZE", [normal(3, 4).clip(-2, 2)], options("QuantizeOptions"), kinds=[kind],
                   grid=(0.05, zero), tolerances=(0, 0))  # fmt: skip
        # LiteRT multiplies codes by an integer, and we divide the numbers.
        yield Case(f"requantize_{kind}", "QUANTIZE", [codes], options("QuantizeOptions"), kinds=[kind], grid=(0.06, zero),
                   tolerances=(0, 1))  # fmt: skip
    halves = normal(3, 4).astype(np.float16)
    yield Case("dequantize_half", "DEQUANTIZE", [halves], options("DequantizeOptions"), free=0, version=3)


def resizes():
    for operator, name in [("RESIZE_BILINEAR", "ResizeBilinear"), ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor")]:
        for corners, centers in [(False, False), (True, False), (False, True)]:
            for h, w in [(8, 7), (3, 9), (2, 3), (1, 1)]:
                made = options(f"{name}Options", alignCorners=corners, halfPixelCenters=centers)
                yield Case(f"{operator.lower()}_{corners}_{centers}_{h}_{w}", operator, [normal(2, 4, 5, 3), ints(h, w)], made,
                           version=3)  # fmt: skip


def scattered():
    places = np.array([[0, 2], [1, 0], [0, 2]], np.int32)
    for kind in ["float32", "int32"]:
        updates = (5 * normal(3, 4)).astype(kind)
        yield Case(f"scatter_nd_{kind}", "SCATTER_ND", [places, updates, ints(2, 3, 4)], options("ScatterNdOptions"), free=2, kinds=[kind])
    for name, where, shape, elements in [("one", ints(2)[0], ints(5), np.float32(3)), ("list", ints(0, 3), ints(5), normal(2)),
                                         ("matrix", places[:2], ints(2, 3), normal(2)), ("all", places[:2], ints(2, 3), np.float32(2))]:  # fmt: skip
        made = options("SparseToDenseOptions")
        yield Case(f"sparse_to_dense_{name}", "SPARSE_TO_DENSE", [where, shape, elements, np.float32(-1)], made)
    for name, start in [("inside", (1, 2, 0)), ("beyond", (2, 9, -3)), ("in_front", (-4, 1, 1))]:
        made = options("DynamicUpdateSliceOptions")
        for free in [2, 3]:
            arrays = [normal(3, 5, 4), normal(2, 2, 4), ints(*start)]
            yield Case(f"update_slice_{name}_{free}", "DYNAMIC_UPDATE_SLICE", arrays, made, free=free)
    yield Case("update_slice_whole", "DYNAMIC_UPDATE_SLICE", [normal(3, 4), normal(3, 4), ints(1, 1)],
               options("DynamicUpdateSliceOptions"), free=2)  # fmt: skip
    yield Case("segment_sum", "SEGMENT_SUM", [normal(5, 3), ints(0, 0, 1, 2, 2)], options("SegmentSumOptions"))
    for word in ["Sum", "Prod", "Max", "Min"]:
        made = options(f"UnsortedSegment{word}Options")
        name = f"unsorted_segment_{word.lower()}"
        for kind in ["float32", "int32"]:
            x = (5 * normal(5, 3)).astype(kind)
            yield Case(f"{name}_{kind}", name.upper(), [x, ints(3, 0, 3, 1, 0), ints(5)[0]], made, kinds=[kind])
        yield Case(f"{name}_some", name.upper(), [normal(5, 3), ints(3, -1, 3, 1, -1), ints(4)[0]], made, free=2)
        yield Case(f"{name}_pairs", name.upper(), [normal(2, 2, 3), np.array([[0, 1], [1, 1]], np.int32), ints(2)[0]], made)


def boxes():
    corners = numbers.uniform(0, 4, (30, 2)).astype(np.float32)
    corners = np.concatenate([corners, corners + numbers.uniform(0.5, 3, (30, 2)).astype(np.float32)], 1)
    corners[5], corners[6] = corners[4], corners[4][[2, 1, 0, 3]]  # the same, and with its corners the other way round
    scores = numbers.permutation(30).astype(np.float32) / 30
    for most in [5, 30, 40]:
        for overlap in [0.0, 0.3, 1.0]:
            for least in [-1.0, 0.4]:
                limits = [ints(most)[0], np.float32(overlap), np.float32(least)]
                name = f"{most}_{overlap}_{least}"
                yield Case(f"non_max_suppression_v4_{name}", "NON_MAX_SUPPRESSION_V4", [corners, scores, *limits],
                           options("NonMaxSuppressionV4Options"), free=2, kinds=["int32"] * 2)  # fmt: skip
                yield Case(f"non_max_suppression_v5_{name}", "NON_MAX_SUPPRESSION_V5", [corners, scores, *limits, np.float32(0)],
                           options("NonMaxSuppressionV5Options"), free=2, kinds=["int32", "float32", "int32"])  # fmt: skip


def others():
    yield Case("embedding_lookup", "EMBEDDING_LOOKUP", [ints(3, 0, 3), normal(5, 4)])
    codes = Tensor(whole(-100, 100, np.int8, 5, 4), 0.05)
    yield Case("embedding_lookup_codes", "EMBEDDING_LOOKUP", [ints(3, 0, 3), codes], version=3)
    for batch, time in [(0, 1), (1, 0), (2, 1), (0, 2), (1, 3)]:
        x = normal(3, 4, 5, 2)
        lengths = whole(1, x.shape[time] + 1, np.int32, x.shape[batch])
        made = options("ReverseSequenceOptions", seqDim=time, batchDim=batch)
        yield Case(f"reverse_sequence_{batch}_{time}", "REVERSE_SEQUENCE", [x, lengths], made, free=2)
    for kind in ["float32", "int32"]:
        for places in ["int32", "int64"]:
            made = options("UniqueOptions", idxOutType=getattr(schema.TensorType, places.upper()))
            yield Case(f"unique_{kind}_{places}", "UNIQUE", [whole(0, 5, kind, 12)], made, kinds=[kind, places])
    for a, b in [((4, 1, 3), (2, 3)), ((2, 1), (5, 1, 7)), ((3,), (3,))]:
        for free in [0, 2]:
            name = f"broadcast_args_{len(a)}{len(b)}_{free}"
            yield Case(name, "BROADCAST_ARGS", [ints(*a), ints(*b)], free=free, kinds=["int32"])
    for pad in ["SAME", "VALID"]:
        for stride, word in [((1, 1, 1), "NONE"), ((2, 1, 2), "RELU")]:
            made = options("Conv3DOptions", padding=padding(pad), strideD=stride[0], strideH=stride[1], strideW=stride[2],
                           fusedActivationFunction=activation(word))  # fmt: skip
            d, h, w = ((3 * s if pad == "SAME" else 2 * s + 2) for s in stride)
            arrays = [normal(1, 3, 3, 3, 4), ints(1, d, h, w, 5), normal(2, 2, 2, 5, 4), normal(5)]
            yield Case(f"conv_3d_transpose_{pad.lower()}_{word.lower()}", "CONV_3D_TRANSPOSE", arrays, made, order=[1, 2, 0, 3])
    yield Case("matrix_diag", "MATRIX_DIAG", [normal(2, 3, 4)], options("MatrixDiagOptions"))
    yield Case("matrix_diag_ints", "MATRIX_DIAG", [whole(-9, 9, np.int32, 4)], options("MatrixDiagOptions"), kinds=["int32"])
    for rows, columns in [(3, 3), (2, 5), (5, 2)]:
        arrays = [normal(2, rows, columns), normal(2, min(rows, columns))]
        yield Case(f"matrix_set_diag_{rows}{columns}", "MATRIX_SET_DIAG", arrays, options("MatrixSetDiagOptions"), free=2)
    y, x = np.meshgrid(np.array([-2, -0.5, 0, 0.5, 2], np.float32), np.array([-1.5, -0.25, 0, 0.25, 1.5], np.float32))
    yield Case("atan2", "ATAN2", [y, x], options("ATan2Options"), free=2)
    for kind in ["int8", "uint8", "int16", "int32", "uint32"]:
        low = 0 if kind[0] == "u" else -100
        x, by = whole(low, 120, kind, 9), np.array([0, 1, 2, 3, 4, 5, 7, 40, 31], kind)
        yield Case(f"right_shift_{kind}", "RIGHT_SHIFT", [x, by], options("RightShiftOptions"), free=2, kinds=[kind])
    for kind, other in [("float32", "int32"), ("int32", "float32"), ("int32", "uint32"), ("int8", "uint8")]:
        x = (9 * normal(6)).astype(kind)
        yield Case(f"bitcast_{kind}_{other}", "BITCAST", [x], options("BitcastOptions"), kinds=[other])
    for kind in ["float32", "int32", "int64"]:
        made = options("BucketizeOptions", boundaries=[-3.0, 0.0, 0.0, 4.0])
        x = np.array([-9, -3, -1, 0, 3, 4, 8], kind)
        yield Case(f"bucketize_{kind}", "BUCKETIZE", [x], made, kinds=["int32"])
    for word in ["ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"]:
        yield Case(f"stablehlo_{word.lower()}", f"STABLEHLO_{word}", [normal(3, 4), normal(3, 4)], free=2)
        arrays = [whole(-9, 9, np.int32, 3, 4), whole(-9, 9, np.int32, 3, 4)]
        yield Case(f"stablehlo_{word.lower()}_ints", f"STABLEHLO_{word}", arrays, free=2, kinds=["int32"])
    for kind, value in [("float32", np.float32(1.5)), ("int32", np.int32(-7))]:
        arrays = [(5 * normal(2, 3, 4)).astype(kind), ints(1, 3, 2), value]
        yield Case(f"dilate_{kind}", "DILATE", arrays, kinds=[kind])


def lstm(inputs, hidden, own=True, peepholes=False):
    """The operands of a direction of an LSTM from its weights to its projection; None for what is left out."""
    gates = [own, True, True, True]
    weights = [[normal(hidden, length) / 2 if has else None for has in gates] for length in (inputs, hidden)]
    looks = [normal(hidden) if peepholes and (own or gate) else None for gate in range(3)]
    biases = [normal(hidden) if has else None for has in gates]
    return [*weights[0], *weights[1], *looks, *biases, None, None]


def with_states(x, operands, states):
    """The arrays of a recurrent layer, and their order: states are variables, and None is left out."""
    order, there = [0], [x]
    for operand in [*operands, *(Tensor(np.zeros(shape, np.float32), variable=True) for shape in states)]:
        order.append(-1 if operand is None else len(there))
        if operand is not None:
            there.append(operand)
    return there, order


def recurrent():
    steps, batch, size, hidden = 5, 2, 3, 4
    for by_time in [False, True]:
        x = normal(*((steps, batch) if by_time else (batch, steps)), size)
        state = (batch, hidden)
        for name, word, more in [("", "TANH", {}), ("_coupled", "TANH", {"own": False}), ("_peepholes", "TANH", {"peepholes": True}),
                                 ("_coupled_peepholes", "TANH", {"own": False, "peepholes": True}), ("_relu", "RELU", {})]:  # fmt: skip
            made = options("UnidirectionalSequenceLSTMOptions", fusedActivationFunction=activation(word), timeMajor=by_time,
                           cellClip=0.5)  # fmt: skip
            arrays, order = with_states(x, lstm(size, hidden, **more), [state, state])
            yield Case(f"lstm{name}_{by_time}", "UNIDIRECTIONAL_SEQUENCE_LSTM", arrays, made, order=order)
        made = options("UnidirectionalSequenceLSTMOptions", fusedActivationFunction=activation("TANH"), timeMajor=by_time)
        arrays, order = with_states(x, lstm(size, hidden), [state, state])
        yield Case(f"lstm_whole_{by_time}", "UNIDIRECTIONAL_SEQUENCE_LSTM", arrays, made, order=order)
        for word in ["TANH", "RELU", "NONE"]:
            made = options("SequenceRNNOptions", fusedActivationFunction=activation(word), timeMajor=by_time)
            arrays, order = with_states(x, [normal(hidden, size), normal(hidden, hidden) / 2, normal(hidden)], [state])
            yield Case(f"rnn_{word.lower()}_{by_time}", "UNIDIRECTIONAL_SEQUENCE_RNN", arrays, made, order=order)
        for merged in [False, True]:
            more = {"fusedActivationFunction": activation("TANH"), "timeMajor": by_time, "mergeOutputs": merged}
            kinds = ["float32"] if merged else ["float32"] * 2
            other = hidden if merged else 6
            sides = [normal(hidden, size), normal(hidden, hidden) / 2, normal(hidden), Tensor(np.zeros(state, np.float32), variable=True),
                     normal(other, size), normal(other, other) / 2, normal(other)]  # fmt: skip
            arrays, order = with_states(x, sides, [(batch, other)])
            yield Case(f"rnn_both_{by_time}_{merged}", "BIDIRECTIONAL_SEQUENCE_RNN", arrays,
                       options("BidirectionalSequenceRNNOptions", **more), order=[*order, -1, -1, -1], kinds=kinds)  # fmt: skip
            # Of several sequences in front of the steps, LiteRT computes only the first one right where it merges.
            several = batch if by_time or not merged else 1
            x = x if several == batch else x[:1]
            arrays, order = with_states(x, lstm(size, hidden) + lstm(size, hidden), [(several, hidden)] * 4)
            yield Case(f"lstm_both_{by_time}_{merged}", "BIDIRECTIONAL_SEQUENCE_LSTM", arrays,
                       options("BidirectionalSequenceLSTMOptions", **more), order=order + [-1] * 9, kinds=kinds)  # fmt: skip


FAMILIES = [functions, arithmetic, convolutions, products, shapes, places, reductions, truths, resizes, scattered, boxes, others, recurrent]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    with litert_cases.folder(parser.parse_args().folder, __file__, litert.__file__) as folder:
        if not folder:
            return
        for case in (case for family in FAMILIES for case in family()):
            file, results = case.write()
            inputs = [tensor.values for tensor in case.inputs]
            folder.add(case.name, file, case.tolerances, case.operator, inputs, results)


if __name__ == "__main__":
    main()
