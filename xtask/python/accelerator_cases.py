"""TFLite files of one operator each, on both sides of each constraint that Vela 5.2 lists for Ethos-U55 and Ethos-U85."""

import numpy as np
from litert import Tensor, options, result, window, written


def codes(*shape, kind=np.int8, scale=0.05, zero=0):
    return Tensor(np.zeros(shape, kind), scale, zero)


def weights(*shape, value=1, kind=np.int8, axis=0):
    return Tensor(np.full(shape, value, kind), np.full(shape[axis], 0.01), 0, axis)


def bias(count, kind=np.int32, value=0):
    return Tensor(np.full(count, value, kind), np.full(count, 0.0005))


def ints(*values, kind=np.int32):
    return Tensor(np.array(values, kind))


def conv(stride=(1, 1), padding="VALID", dilation=1, x=None, w=None, b=None, depthwise=False):
    x = codes(1, 17, 17, 8) if x is None else x
    w = w if w is not None else (weights(1, 3, 3, 8, axis=3) if depthwise else weights(4, 3, 3, 8))
    count = w.values.shape[3 if depthwise else 0]
    b = bias(count) if b is None else b
    span = [dilation * (extent - 1) + 1 for extent in w.values.shape[1:3]]
    positions = [
        -(-at // step) if padding == "SAME" else (at - own) // step + 1
        for at, step, own in zip(x.values.shape[1:3], stride, span, strict=True)
    ]
    name = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    more = {"depthMultiplier": 1} if depthwise else {}
    own = window(name, stride, padding, dilationHFactor=dilation, dilationWFactor=dilation, **more)
    y = codes(x.values.shape[0], *positions, count, kind=x.values.dtype)
    return written("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", own, [x], [w, b], [y])


def dense(summands, kind=np.int8, value=1, b=None):
    x, w = codes(1, summands, kind=kind), weights(4, summands, value=value)
    own = options("FullyConnectedOptions")
    return written("FULLY_CONNECTED", own, [x], [w, bias(4) if b is None else b], [codes(1, 4, kind=kind)])


def pool(name, kernel, stride=(1, 1), padding="VALID", extent=300):
    x = codes(1, extent, extent, 2)
    positions = [-(-extent // step) if padding == "SAME" else (extent - own) // step + 1 for own, step in zip(kernel, stride, strict=True)]
    own = window("Pool2DOptions", stride, padding, filterHeight=kernel[0], filterWidth=kernel[1])
    return written(name, own, [x], [], [codes(1, *positions, 2)])


def unary(name, kind=np.int8, own=None, shape=(1, 8, 8, 4)):
    return written(name, own, [codes(*shape, kind=kind)], [], [codes(*shape, kind=kind)])


def binary(name, kind=np.int8, own=None, other=0.05, of_result=0.05, made=None):
    x, y = codes(1, 8, 8, 4, kind=kind), codes(1, 8, 8, 4, kind=kind, scale=other)
    return written(name, own, [x, y], [], [codes(1, 8, 8, 4, kind=made or kind, scale=of_result)])


def matmul(summands, channels, kind=np.int8):
    x, y = codes(1, 2, summands, kind=kind), codes(1, summands, channels, kind=kind)
    return written("BATCH_MATMUL", options("BatchMatMulOptions"), [x, y], [], [codes(1, 2, channels, kind=kind)])


def mean(shape, axes, kind=np.int8, name="MEAN", constant=True):
    kept = [1 if axis in axes else extent for axis, extent in enumerate(shape)]
    lists = ([codes(*shape, kind=kind)], [ints(*axes)]) if constant else ([codes(*shape, kind=kind), ints(*axes)], [])
    return written(name, options("ReducerOptions", keepDims=True), *lists, [codes(*kept, kind=kind)])


def resize(name, from_, to, **fields):
    own = options("ResizeBilinearOptions" if "BILINEAR" in name else "ResizeNearestNeighborOptions", **fields)
    return written(name, own, [codes(1, *from_, 4)], [ints(*to)], [codes(1, *to, 4)])


def transpose(shape, axes, kind=np.int8):
    made = [shape[axis] for axis in axes]
    return written("TRANSPOSE", None, [codes(*shape, kind=kind)], [ints(*axes)], [codes(*made, kind=kind)])


def transposed_conv(stride, padding, kernel=(3, 3), x=(8, 8), more=0):
    w = weights(4, *kernel, 8)
    extents = [
        at * step + (max(own - step, 0) if padding == "VALID" else 0)
        for at, step, own in zip(x, stride, kernel, strict=True)
    ]
    extents[0] += more
    shape, y = ints(1, *extents, 4), codes(1, *extents, 4)
    own = options("TransposeConvOptions", padding=0 if padding == "SAME" else 1, strideH=stride[0], strideW=stride[1])
    return written("TRANSPOSE_CONV", own, [codes(1, *x, 8)], [shape, w, bias(4)], [y], [1, 2, 0, 3])


def slices(strides, constant=True):
    begin, end, shape = [0, 0, 0, 0], [1, 8, 8, 4], (1, 8, 8, 4)
    made = [-(-extent // abs(step)) for extent, step in zip(shape, strides, strict=True)]
    if min(strides) < 0:
        begin, end = [extent - 1 if step < 0 else 0 for extent, step in zip(shape, strides, strict=True)], [-9 if step < 0 else extent for extent, step in zip(shape, strides, strict=True)]
    lists = [ints(*begin), ints(*end), ints(*strides)]
    operands = ([codes(*shape)], lists) if constant else ([codes(*shape), *lists], [])
    return written("STRIDED_SLICE", options("StridedSliceOptions"), *operands, [codes(*made)])


def gather(axis, batch):
    x, at = codes(4, 6, 3), ints(*range(4)) if batch == 0 else Tensor(np.zeros((4, 2), np.int32))
    shape = {(0, 0): (4, 6, 3), (1, 0): (4, 4, 3), (1, 1): (4, 2, 3)}[axis, batch]
    return written("GATHER", options("GatherOptions", axis=axis, batchDims=batch), [x], [at], [codes(*shape)])


def arg_max(channels, axis):
    x = codes(1, 8, 8, channels)
    made = [extent for at, extent in enumerate(x.values.shape) if at != axis % 4]
    own = options("ArgMaxOptions", outputType=2)
    return written("ARG_MAX", own, [x], [ints(axis)], [result(made, np.int32)])


def softmax(height, width):
    y = codes(1, height, width, 2, scale=1 / 256, zero=-128)
    return written("SOFTMAX", options("SoftmaxOptions", beta=1.0), [codes(1, height, width, 2)], [], [y])


def pad(constant=True, kind=np.int8):
    amounts = Tensor(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
    lists = ([codes(1, 8, 8, 4, kind=kind)], [amounts]) if constant else ([codes(1, 8, 8, 4, kind=kind), amounts], [])
    return written("PAD", None, *lists, [codes(1, 10, 10, 4, kind=kind)])


def cases():
    """Names and files."""
    short, wide, real = np.int16, np.int32, np.float32
    yield "conv", conv()
    for stride in [(3, 3), (4, 4), (4, 1)]:
        for padding in ["VALID", "SAME"]:
            yield f"conv stride {stride} {padding}", conv(stride, padding)
    yield "conv stride 4 SAME without padding", conv((4, 4), "SAME", x=codes(1, 16, 16, 8), w=weights(4, 4, 4, 8))
    yield "conv stride 4 dilation 2", conv((4, 4), "VALID", 2)
    yield "conv dilation 2", conv((1, 1), "SAME", 2)
    yield "conv bias int64", conv(x=codes(1, 17, 17, 8, kind=short), b=bias(4, np.int64))
    for value in [1099511627774, 1099511627776, 281474976710654, 281474976710656]:
        yield f"conv bias {value}", conv(x=codes(1, 17, 17, 8, kind=short), b=bias(4, np.int64, value))
    for depth in [65535, 65537]:
        yield f"conv weight sum of {depth}", conv(x=codes(1, 1, 1, depth), w=weights(1, 1, 1, depth, value=127))
    yield "conv int16 weight sum", conv(x=codes(1, 1, 1, 65537, kind=short), w=weights(1, 1, 1, 65537, value=127), b=bias(1, np.int64))
    for stride in [(3, 3), (4, 4)]:
        yield f"depthwise stride {stride}", conv(stride, depthwise=True)
    yield "dense", dense(16)
    yield "dense int16", dense(16, short, b=bias(4, np.int64))
    for summands in [65535, 65537]:
        yield f"dense {summands} summands", dense(summands, value=127)
    for name in ["AVERAGE_POOL_2D", "MAX_POOL_2D"]:
        for kernel in [(8, 8), (9, 9), (256, 256), (257, 1), (1, 257)]:
            for padding in ["VALID", "SAME"]:
                yield f"{name} {kernel} {padding}", pool(name, kernel, padding=padding)
        for padding in ["VALID", "SAME"]:
            yield f"{name} stride 4 {padding}", pool(name, (4, 4), (4, 4), padding, 32)
            yield f"{name} stride 4 {padding} with padding", pool(name, (5, 5), (4, 4), padding, 30)
    for kind in [np.int8, np.uint8, short, wide, real]:
        for name in ["ABS", "NEG", "EXP", "LOG", "RSQRT", "ELU", "HARD_SWISH", "LOGISTIC", "TANH", "RELU", "RELU6", "RELU_N1_TO_1"]:
            yield f"{name} {kind.__name__}", unary(name, kind)
        yield f"GELU {kind.__name__}", unary("GELU", kind, options("GeluOptions"))
        yield f"LEAKY_RELU {kind.__name__}", unary("LEAKY_RELU", kind, options("LeakyReluOptions", alpha=0.1))
        for name in ["Add", "Sub", "Mul", "Div"]:
            yield f"{name} {kind.__name__}", binary(name.upper(), kind, options(f"{name}Options"))
        yield f"MAXIMUM {kind.__name__}", binary("MAXIMUM", kind)
        yield f"SQUARED_DIFFERENCE {kind.__name__}", binary("SQUARED_DIFFERENCE", kind)
        yield f"PRELU {kind.__name__}", written("PRELU", None, [codes(1, 8, 8, 4, kind=kind)], [codes(1, 1, 4, kind=kind)], [codes(1, 8, 8, 4, kind=kind)])
        yield f"RESHAPE {kind.__name__}", written("RESHAPE", options("ReshapeOptions"), [codes(1, 8, 8, 4, kind=kind)], [ints(1, 256)], [codes(1, 256, kind=kind)])
        yield f"CONCATENATION {kind.__name__}", written("CONCATENATION", options("ConcatenationOptions", axis=3), [codes(1, 8, 8, 4, kind=kind)] * 2, [], [codes(1, 8, 8, 8, kind=kind)])
        yield f"PAD {kind.__name__}", pad(kind=kind)
        yield f"MATMUL {kind.__name__}", matmul(8, 8, kind)
        yield f"QUANTIZE from {kind.__name__}", written("QUANTIZE", None, [codes(1, 8, 8, 4, kind=kind)], [], [codes(1, 8, 8, 4, scale=0.1)])
        yield f"MEAN {kind.__name__}", mean((1, 8, 8, 4), (1, 2), kind)
        yield f"SUM {kind.__name__}", mean((1, 8, 8, 4), (1, 2), kind, "SUM")
        yield f"REDUCE_MAX {kind.__name__}", mean((1, 8, 8, 4), (1, 2), kind, "REDUCE_MAX")
        yield f"TRANSPOSE {kind.__name__}", transpose((1, 8, 9, 4), (0, 3, 1, 2), kind)
        yield f"SPLIT {kind.__name__}", written("SPLIT", options("SplitOptions", numSplits=2), [codes(1, 8, 8, 4, kind=kind)], [ints(3)], [codes(1, 8, 8, 2, kind=kind)] * 2, [1, 0])
        yield f"GREATER {kind.__name__}", written("GREATER", None, [codes(1, 8, 8, 4, kind=kind)] * 2, [], [result((1, 8, 8, 4), np.bool_)])
        yield f"CAST {kind.__name__}", written("CAST", options("CastOptions"), [codes(1, 8, 8, 4, kind=kind)], [], [codes(1, 8, 8, 4, kind=wide)])
    yield "MAXIMUM on one grid", binary("MAXIMUM")
    yield "MAXIMUM on two grids", binary("MAXIMUM", other=0.1)
    yield "MINIMUM to another grid", binary("MINIMUM", of_result=0.1)
    for summands in [65536, 65537]:
        yield f"MATMUL of {summands} summands", matmul(summands, 2)
        yield f"MATMUL of {summands} channels", matmul(2, summands)
    for shape, axes in [((2, 8, 8, 4), (1, 2)), ((1, 8, 8, 4), (3,)), ((1, 1, 8, 4), (3,)), ((1, 4095, 2, 4), (1,)), ((1, 4096, 2, 4), (1,)), ((1, 4097, 2, 4), (1,)), ((1, 2, 4097, 4), (2,)), ((1, 65537, 1, 2), (1,)), ((1, 8, 8, 4), (1, 2, 3)), ((8, 4), (1,)), ((1, 300, 300, 2), (1, 2))]:
        yield f"MEAN of {shape} over {axes}", mean(shape, axes)
    yield "MEAN of int16 over 65792", mean((1, 256, 257, 2), (1, 2), short)
    yield "MEAN over axes that are computed", mean((1, 8, 8, 4), (1, 2), constant=False)
    for name in ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"]:
        for from_, to in [((4, 4), (8, 8)), ((4, 4), (16, 16)), ((4, 4), (32, 32)), ((4, 4), (64, 64)), ((4, 4), (12, 12)), ((4, 4), (8, 16)), ((1, 4), (1, 8)), ((1, 1), (7, 5)), ((4, 4), (4, 4)), ((4, 4), (6, 6)), ((8, 8), (4, 4))]:
            yield f"{name} {from_} to {to}", resize(name, from_, to)
            yield f"{name} {from_} to {to} half pixels", resize(name, from_, to, halfPixelCenters=True)
        yield f"{name} (4, 4) to (7, 7) corners", resize(name, (4, 4), (7, 7), alignCorners=True)
        yield f"{name} (4, 4) to (8, 8) corners", resize(name, (4, 4), (8, 8), alignCorners=True)
    for shape, axes in [((1, 8, 9, 4), (0, 2, 1, 3)), ((2, 8, 9, 4), (1, 0, 2, 3)), ((1, 300, 300, 4), (0, 3, 1, 2)), ((2, 300, 300, 4), (0, 3, 1, 2)), ((2, 3, 4, 5, 6), (4, 3, 2, 1, 0)), ((1, 70000, 2, 3), (0, 2, 1, 3)), ((2, 2, 2, 2, 2, 2, 2, 2, 2), (8, 7, 6, 5, 4, 3, 2, 1, 0)), ((4, 300, 300), (2, 0, 1))]:
        yield f"TRANSPOSE {shape} by {axes}", transpose(shape, axes)
    for shape, axes in [((1, 8, 9, 4), (0, 2, 1, 3)), ((2, 8, 9, 4), (0, 2, 1, 3)), ((2, 8, 9, 4), (1, 0, 2, 3)), ((1, 8, 9, 4), (0, 1, 2, 3)), ((2, 2, 2, 2, 2), (0, 1, 3, 2, 4))]:
        yield f"TRANSPOSE int32 {shape} by {axes}", transpose(shape, axes, wide)
    for stride in [(1, 1), (2, 2), (2, 1), (1, 2), (3, 3)]:
        for padding in ["SAME", "VALID"]:
            yield f"TRANSPOSE_CONV stride {stride} {padding}", transposed_conv(stride, padding)
    yield "TRANSPOSE_CONV stride (1, 2) one row", transposed_conv((1, 2), "SAME", (1, 3), (1, 8))
    yield "TRANSPOSE_CONV stride (2, 1) one column", transposed_conv((2, 1), "SAME", (3, 1), (8, 1))
    yield "TRANSPOSE_CONV larger result", transposed_conv((2, 2), "SAME", more=1)
    for strides in [(1, 1, 1, 1), (1, 2, 2, 1), (1, 1, 1, 2), (1, -1, 1, 1), (1, 1, 3, 1)]:
        yield f"STRIDED_SLICE {strides}", slices(strides)
    yield "STRIDED_SLICE that is computed", slices((1, 1, 1, 1), False)
    yield "PAD that is computed", pad(False)
    for axis, batch in [(0, 0), (1, 0), (1, 1)]:
        yield f"GATHER axis {axis} batch {batch}", gather(axis, batch)
    table, at = codes(256), Tensor(np.zeros((1, 8, 8, 4), np.int32))
    yield "GATHER of a constant table", written("GATHER", options("GatherOptions"), [at], [table], [codes(1, 8, 8, 4)], [1, 0])
    for channels, axis in [(127, 3), (128, 3), (8, 1), (8, -1)]:
        yield f"ARG_MAX {channels} channels along {axis}", arg_max(channels, axis)
    for height, width in [(255, 256), (256, 256), (257, 256), (1024, 1024)]:
        yield f"SOFTMAX {height} by {width}", softmax(height, width)
