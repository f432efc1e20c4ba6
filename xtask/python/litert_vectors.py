#!/usr/bin/env python3
"""Vectors of LiteRT's reference kernels. Started by `cargo xtask oracles`.

Biases lead the accumulators over all of their range, output scales are made so that most results do not saturate, and a
quarter of the factors are powers of two, where ties are.
"""

import argparse
from pathlib import Path

import litert
import litert_functions
import litert_moves
import litert_resize
import numpy as np
from litert import PROGRAM, Tensor, options, result, window
from vectors import WIDE, Kernel, codes, per, power, real, reciprocal, scale, short

CHANNELS, DEPTH, PIXELS = 32, 8, 24


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for seed, kernel in enumerate(KERNELS):
        kernel(np.random.default_rng(seed)).write(folder)


# ---- products with constant weights ----


def product_scales(generator, exponents, bits):
    """Input, weights' and output scale, for which accumulators of 2^exponents reach about `bits` bits."""
    some = power if generator.random() < 0.25 else scale
    spread = generator.integers(-2, 2) if some is power else generator.uniform(-2, 1)
    source, target = some(generator), some(generator)
    factors = 2.0 ** (bits - exponents + spread)
    return source, (factors * target / source).astype(np.float32), target


def layer(generator, activations, exponents, per_channel, depth, bias, bits):
    """Operands of a layer of `depth` inputs whose accumulators are its biases and little more, and its scales."""
    narrow = 16 if activations == np.int16 else 8
    unsigned = activations == np.uint8
    source, weights, target = product_scales(generator, exponents, narrow - 1)
    first = 0 if unsigned else -128
    zero, out_zero = (0, 0) if narrow == 16 else (int(z) for z in generator.integers(first, first + 256, 2))
    # Weights without a sign have a zero point, those with one do not.
    weight_zero = int(generator.integers(0, 255)) if unsigned else 0
    limit = 2.0**exponents
    if generator.random() < 0.5:
        least, most = (0, 256) if unsigned else (-127, 128) if bits == 8 else (-8, 8)
        x, w = codes(generator, activations, (PIXELS, depth)), generator.integers(least, most, (CHANNELS, depth))
        biases = generator.uniform(-limit, limit, CHANNELS)
    else:
        # Around the accumulators where the result takes its next value.
        x = np.clip(generator.integers(-12, 13, (PIXELS, 1)) + zero, first, first + 255)
        w = np.ones((CHANNELS, 1)) + weight_zero
        low = 0 if unsigned else -(2 ** (narrow - 1))
        steps = generator.integers(low, low + 2**narrow, CHANNELS) - out_zero + 0.5
        biases = np.round(steps * (np.float64(target) / (np.float64(source) * weights.astype(np.float64))))
        most = 2.0 ** (46 if bias == np.int64 else 30)
        biases = np.clip(biases, -most, most)
    x, w, biases = x.astype(activations), w.astype(np.uint8 if unsigned else np.int8), biases.astype(bias)
    if not per_channel:
        weights = weights[:1]
    return {
        "x": Tensor(x, source, zero),
        "w": Tensor(w, weights, weight_zero, packed=bits == 4),
        "b": Tensor(biases, source * weights),
        "acc": (x.astype(WIDE) - zero) @ (w.T.astype(WIDE) - weight_zero) + biases,
        "output": (target, out_zero),
        "weights": per(weights if per_channel else weights[0]),
    }


# The ends of the activations that LiteRT fuses, as real numbers.
ACTIVATIONS = {"NONE": None, "RELU": [0, None], "RELU_N1_TO_1": [-1, 1], "RELU6": [0, 6]}


def layers(run, name, rule, others, activations=np.int8, per_channel=True, exponents=(3, 31), depth=DEPTH, bias=None, bits=8,
           activation="NONE"):  # fmt: skip
    """A kernel with constant weights; `run` makes and runs the model of a layer. Accumulators are up to 2^exponents."""
    kinds = {np.int16: "int16 activations", np.uint8: "uint8, weights with a zero point"}
    kind = kinds.get(activations, "int8")
    kind += {None: "", np.int32: ", int32 bias"}[bias] + (", int4 weights" if bits == 4 else "")
    kind += "" if activation == "NONE" else f", {activation}"
    past = activations == np.int16 and exponents[1] > 47
    kind += ", sums past 2^47" if past else ""
    bound = f", accumulators below 2^{exponents[1]}" if exponents[1] < 30 else ""
    bias = bias or (np.int64 if activations == np.int16 else np.int32)
    fused = {"fusedActivationFunction": litert.activation(activation)}
    if activations == np.int16 and bias == np.int32:
        # Without it LiteRT takes the bias for int64.
        fused["quantizedBiasType"] = litert.TYPES["int32"]

    def fill(generator):
        channels = "per channel" if per_channel else "per tensor"
        kernel = Kernel(PROGRAM, f"{name}, {kind}, {channels}{bound}", rule, others)
        while len(kernel.data["cases"]) < 120:
            limits = generator.integers(*exponents, CHANNELS if per_channel else 1).astype(np.float64)
            made = layer(generator, activations, limits, per_channel, depth, bias, bits)
            acc = made["acc"]
            if np.abs(acc).max() >= 2 ** (47 if bias == np.int64 else min(exponents[1], 31)) and not past:
                continue
            target, zero = made["output"]
            y = run({**made, "fused": fused}, lambda shape: result(shape, activations, target, zero))
            y = y.reshape(PIXELS, CHANNELS)
            rows = (acc.T, y.T) if per_channel else ([acc.T], [y.T])
            kernel.add(*rows, short(activations), target, zero, inputs=[real(made["x"].scale)], weights=made["weights"],
                       clamp=ACTIVATIONS[activation])  # fmt: skip
        return kernel

    return fill


def conv_2d(made, output):
    x, w = made["x"], made["w"]
    image = Tensor(x.values.reshape(1, PIXELS, 1, -1), x.scale, x.zero)
    kernel = Tensor(w.values.reshape(CHANNELS, 1, 1, -1), w.scale, w.zero, 0, w.packed)
    plain = window("Conv2DOptions", **made.get("fused", {}))
    return litert.run("CONV_2D", plain, [image], [kernel, made["b"]], output((1, PIXELS, 1, CHANNELS)))


def transpose_conv(made, output):
    """With a window of one element: the shape of the result and the weights stand before the operand."""
    x, w = made["x"], made["w"]
    shape = (1, PIXELS, 1, CHANNELS)
    image = Tensor(x.values.reshape(1, PIXELS, 1, -1), x.scale, x.zero)
    kernel = Tensor(w.values.reshape(CHANNELS, 1, 1, -1), w.scale, 0, 0)
    plain = options("TransposeConvOptions", padding=litert.padding("VALID"), strideH=1, strideW=1, **made["fused"])
    constants = [Tensor(np.array(shape, np.int32)), kernel]
    return litert.run("TRANSPOSE_CONV", plain, [image], constants + [made["b"]], output(shape), order=[1, 2, 0, 3])


def fully_connected(made, output):
    plain = options("FullyConnectedOptions", weightsFormat=0, keepNumDims=False, **made.get("fused", {}))
    return litert.run("FULLY_CONNECTED", plain, [made["x"]], [made["w"], made["b"]], output((PIXELS, CHANNELS)))


def depthwise_conv_2d(made, output):
    """Each channel of its own input; only where the inputs are equal is that a product of matrices."""
    x, w = made["x"], made["w"]
    image = Tensor(np.repeat(x.values, CHANNELS, 1).reshape(1, PIXELS, 1, CHANNELS), x.scale, x.zero)
    taps = Tensor(w.values.reshape(1, 1, 1, CHANNELS), w.scale, w.zero, 3, w.packed)
    plain = window("DepthwiseConv2DOptions", depthMultiplier=1, **made["fused"])
    return litert.run("DEPTHWISE_CONV_2D", plain, [image], [taps, made["b"]], output((1, PIXELS, 1, CHANNELS)))


def wrapping(run, name, rule):
    """Sums that pass 2^31 and come back: half of the products have one sign, then half the other."""

    def fill(generator):
        kernel = Kernel(PROGRAM, f"{name}, int8, sums past 2^31 on their way", rule)
        for _ in range(6):
            depth, sign = int(generator.integers(134_000, 150_000)), generator.choice([-1, 1])
            x = np.repeat([[127 * sign, -127 * sign]], depth, 1).astype(np.int8)
            x = np.repeat(x, PIXELS, 0)
            x[:, generator.integers(0, 2 * depth, 64)] = codes(generator, np.int8, (PIXELS, 64))
            w = np.full((CHANNELS, 2 * depth), 127, np.int8)
            biases = generator.integers(-(2**20), 2**20, CHANNELS).astype(np.int32)
            acc = x.astype(WIDE) @ w.T.astype(WIDE) + biases
            assert np.abs(np.cumsum(x[0].astype(WIDE) * 127)).max() >= 2**31 > np.abs(acc).max()
            source, weights = scale(generator), scale(generator)
            target = np.float32(np.abs(acc).max() / 100 * source * weights)
            made = {"x": Tensor(x, source), "w": Tensor(w, weights), "b": Tensor(biases, source * weights)}
            y = run(made, lambda shape: result(shape, np.int8, target, 0)).reshape(PIXELS, CHANNELS)  # noqa: B023
            kernel.add([acc], [y], "i8", target, inputs=[real(source)], weights=per(weights))
        return kernel

    return fill


# ---- two activations ----


def grids(generator, elements):
    """Two operands' grids and codes."""
    some = power if generator.random() < 0.25 else scale
    zero = (lambda: 0) if elements == np.int16 else lambda: int(generator.integers(-128, 128))
    return [Tensor(codes(generator, elements, (64, 64)), some(generator), zero()) for _ in range(2)], zero()


def product_grids(generator, elements, bits):
    """Two operands' grids and codes, and the scale and zero point of a result of `bits` bits."""
    (a, b), zero = grids(generator, elements)
    if generator.random() < 0.2:
        a.scale, b.scale = reciprocal(generator)
        a.values, b.values = (t.values // 16 for t in (a, b))
        a.zero, b.zero = 0, 0
        return a, b, np.float32(2), zero
    exact = all(np.frexp(t.scale)[0] == 0.5 for t in (a, b))
    spread = generator.integers(-4, 4) if exact else generator.uniform(-4, 4)
    return a, b, np.float32(np.float64(a.scale) * np.float64(b.scale) * 2.0 ** (bits + spread)), zero


def multiplied(name, elements, rule):
    def fill(generator):
        kernel = Kernel(PROGRAM, f"MUL, {name}", rule, ["one rounding", "factor in f64"])
        for _ in range(60):
            a, b, target, zero = product_grids(generator, elements, 15 if elements == np.int16 else 7)
            y = litert.run("MUL", options("MulOptions"), [a, b], [], result((64, 64), elements, target, zero))
            product = (a.values.astype(WIDE) - a.zero) * (b.values.astype(WIDE) - b.zero)
            kernel.add([product], [y], short(elements), target, zero, inputs=[real(a.scale), real(b.scale)])
        return kernel

    return fill


def summed(operator, elements):
    rule = {"ADD": "litert::addition", "SUB": "litert::addition, subtracted"}[operator]

    def fill(generator):
        kernel = Kernel(PROGRAM, f"{operator}, {np.dtype(elements).name}", rule)
        while len(kernel.data["cases"]) < 60:
            (a, b), zero = grids(generator, elements)
            largest = max(a.scale, b.scale)
            target = np.float32(largest * 2.0 ** generator.uniform(-2, 4))
            if min(a.scale, b.scale) * 2.0**20 < largest:
                continue
            plain = options({"ADD": "AddOptions", "SUB": "SubOptions"}[operator], potScaleInt16=False)
            y = litert.run(operator, plain, [a, b], [], result((64, 64), elements, target, zero))
            kernel.add([a.values.astype(WIDE) - a.zero, b.values.astype(WIDE) - b.zero], [y],
                       short(elements), target, zero,
                       inputs=[real(a.scale), real(b.scale)])  # fmt: skip
        return kernel

    return fill


def batch_matmul(generator):
    kernel = Kernel(PROGRAM, "BATCH_MATMUL, int8", "litert::matrix_product", ["one rounding", "litert::convolution"])
    for _ in range(150):
        depth = int(generator.choice([1, 4, 64]))
        a, b, target, zero = product_grids(generator, np.int8, 8)
        if target != 2:
            target = np.float32(target * np.sqrt(depth))
        a.values = a.values.reshape(-1)[: 48 * depth].reshape(1, 48, depth)
        b.values = b.values.reshape(-1)[: 40 * depth].reshape(1, depth, 40)
        matrix_product(kernel, a, b, target, zero)
    return kernel


def matrix_product(kernel, a, b, target, zero):
    plain = options("BatchMatMulOptions", adjX=False, adjY=False, asymmetricQuantizeInputs=False)
    elements = a.values.dtype.type
    shape = (1, a.values.shape[1], b.values.shape[2])
    y = litert.run("BATCH_MATMUL", plain, [a, b], [], result(shape, elements, target, zero))
    acc = (a.values.astype(WIDE) - a.zero) @ (b.values.astype(WIDE) - b.zero)
    kernel.add([acc], [y], short(elements), target, zero, inputs=[real(a.scale)], weights=per(b.scale))


def wide_batch_matmul(elements):
    """int16 by int16 or by int8. Only 16 bits of the factor are kept: scales are drawn until its type shows in them."""
    names = f"BATCH_MATMUL, int16 by {np.dtype(elements).name}"

    def upper(a, b, target):
        return [np.round(np.frexp(factor / np.float64(target))[0] * 2**15) for factor in (np.float64(a * b), np.float64(a) * np.float64(b))]

    def fill(generator):
        kernel = Kernel(PROGRAM, names, "litert::wide_matrix_product", ["litert::matrix_product", "litert::sixteen_by_eight"])
        while len(kernel.data["cases"]) < 100:
            depth = int(generator.choice([1, 4, 64, 1000]))
            a, b = (Tensor(codes(generator, e, shape), scale(generator))
                    for e, shape in ((np.int16, (1, 48, depth)), (elements, (1, depth, 40))))  # fmt: skip
            bits = 15 + 8 * (np.dtype(elements).itemsize - 1) + np.log2(depth) / 2
            target = np.float32(np.float64(a.scale) * np.float64(b.scale) * 2.0 ** (bits - 1 + generator.uniform(-2, 2)))
            if len(kernel.data["cases"]) % 2 or np.ptp(upper(a.scale, b.scale, target)):
                matrix_product(kernel, a, b, target, 0)
        return kernel

    return fill


# ---- one activation ----


def quantize(elements):
    def fill(generator):
        kernel = Kernel(PROGRAM, f"QUANTIZE, float32 to {np.dtype(elements).name}", "quantize, half away", ["reciprocal, half away"])
        limits = np.iinfo(elements)
        for _ in range(40):
            target = (power if generator.random() < 0.5 else scale)(generator)
            zero = 0 if elements == np.int16 else int(generator.integers(limits.min, limits.max + 1))
            x = generator.uniform(limits.min - 10, limits.max + 10, 4096) - zero
            x[::2] = np.floor(x[::2]) + 0.5  # ties, or as near as their products are
            x = (x * target).astype(np.float32)
            y = litert.run("QUANTIZE", None, [Tensor(x)], [], result(x.shape, elements, target, zero))
            kernel.add([x.view(np.uint32)], [y], short(elements), target, zero)
        return kernel

    return fill


def requantize(source, elements):
    def fill(generator):
        names = [np.dtype(e).name for e in (source, elements)]
        kernel = Kernel(PROGRAM, f"QUANTIZE, {names[0]} to {names[1]}", "litert::convolution, weight 1", ["one rounding"])
        for _ in range(100):
            some = power if generator.random() < 0.25 else scale
            x = np.arange(np.iinfo(source).min, np.iinfo(source).max + 1).astype(source)
            if source == np.int16:
                x = codes(generator, source, 4096)
            ratio = generator.integers(-6, 7) if some is power else generator.uniform(-6, 6)
            a = some(generator)
            bits = 8 * (np.dtype(source).itemsize - np.dtype(elements).itemsize)
            target = np.float32(a * 2.0 ** (ratio + bits))
            firsts = [np.iinfo(e).min for e in (source, elements)]
            zeros = [0 if f == -(2**15) else int(generator.integers(f, f + 256)) for f in firsts]
            y = litert.run("QUANTIZE", None, [Tensor(x, a, zeros[0])], [], result(x.shape, elements, target, zeros[1]))
            kernel.add([x.astype(WIDE) - zeros[0]], [y], short(elements), target, zeros[1], inputs=[real(a)])
        return kernel

    return fill


def mean(same_grid, elements=np.int8):
    def fill(generator):
        grid = "one grid" if same_grid else "two grids"
        name = f"MEAN over the spatial axes, {np.dtype(elements).name}, {grid}"
        kernel = Kernel(PROGRAM, name, "litert::mean", ["nearest multiplier", "one rounding"])
        draw_zero = (lambda: 0) if elements == np.int16 else lambda: int(generator.integers(-128, 128))
        for _ in range(200):
            height, width = (int(v) for v in generator.integers(1, 18, 2))
            some = power if generator.random() < 0.25 else scale
            x = Tensor(codes(generator, elements, (1, height, width, 128)), some(generator), draw_zero())
            # Means of random codes are near the middle: a finer output grid keeps them apart.
            ratio = generator.integers(-4, 1) if some is power else generator.uniform(-4, 1)
            target, zero = np.float32(x.scale * 2.0**ratio), draw_zero()
            if same_grid:
                target, zero = x.scale, x.zero
            y = litert.run("MEAN", options("ReducerOptions", keepDims=True), [x], [Tensor(np.array([1, 2], np.int32))],
                           result((1, 1, 1, 128), elements, target, zero))  # fmt: skip
            sums = (x.values.astype(WIDE) - x.zero).sum((1, 2))
            kernel.add([sums], [y], short(elements), target, zero, inputs=[real(x.scale)], count=height * width)
        return kernel

    return fill


def mean_over(name, draw):
    """MEAN over the axes of a shape that `draw` gives, between two grids."""

    def fill(generator):
        kernel = Kernel(PROGRAM, f"MEAN over {name}, int8, two grids", "litert::mean", ["nearest multiplier", "one rounding"])
        for _ in range(120):
            shape, axes, keep = draw(generator)
            some = power if generator.random() < 0.25 else scale
            x = Tensor(codes(generator, np.int8, shape), some(generator), int(generator.integers(-128, 128)))
            ratio = generator.integers(-4, 1) if some is power else generator.uniform(-4, 1)
            target, zero = np.float32(x.scale * 2.0**ratio), int(generator.integers(-128, 128))
            sums = (x.values.astype(WIDE) - x.zero).sum(axes, keepdims=keep)
            y = litert.run("MEAN", options("ReducerOptions", keepDims=keep), [x], [Tensor(np.array(axes, np.int32))],
                           result(sums.shape, np.int8, target, zero))  # fmt: skip
            count = int(np.prod([shape[axis] for axis in axes]))
            kernel.add([sums], [y], "i8", target, zero, inputs=[real(x.scale)], count=count)
        return kernel

    return fill


def sums(generator):
    kernel = Kernel(PROGRAM, "SUM, int8", "litert::convolution, weight 1", equal=False, note="reads the codes as uint8")
    for _ in range(50):
        x = Tensor(codes(generator, np.int8, (16, 24)), scale(generator), int(generator.integers(-128, 128)))
        target, zero = np.float32(x.scale * 2.0 ** generator.uniform(0, 4)), int(generator.integers(-128, 128))
        y = litert.run("SUM", options("ReducerOptions", keepDims=True), [x], [Tensor(np.array([1], np.int32))],
                       result((16, 1), np.int8, target, zero))  # fmt: skip
        kernel.add([(x.values.astype(WIDE) - x.zero).sum(1)], [y], "i8", target, zero, inputs=[real(x.scale)])
    return kernel


def last_axis(generator):
    rank = int(generator.integers(2, 5))
    shape = tuple(int(v) for v in generator.integers(2, 12, rank - 1))
    return (*shape, int(generator.integers(1, 300))), (rank - 1,), bool(generator.random() < 0.5)


def any_axes(generator):
    shape = tuple(int(v) for v in generator.integers(1, 12, 4))
    axes = generator.choice(4, int(generator.integers(1, 4)), replace=False)
    return shape, tuple(int(axis) for axis in sorted(axes)), bool(generator.random() < 0.5)


def on_one_grid(name, draw, elements=np.int8):
    """An operator whose codes are those of its operands, or made of them on the same grid: `draw` gives the operands, the
    operator with its options and constants, and what the codes should be."""

    def fill(generator):
        kernel = Kernel(PROGRAM, f"{name}, {np.dtype(elements).name}, one grid", "same")
        for _ in range(60):
            operands, operator_options, constants, expected = draw(generator, elements)
            first = np.iinfo(elements).min
            grid, zero = scale(generator), 0 if elements == np.int16 else int(generator.integers(first, first + 256))
            expected = expected(zero) if callable(expected) else expected
            inputs = [x if isinstance(x, Tensor) else Tensor(x, grid, zero) for x in operands]
            y = litert.run(name, operator_options, inputs, [Tensor(np.array(c, np.int32)) for c in constants],
                           result(expected.shape, elements, grid, zero))  # fmt: skip
            kernel.add([expected], [y], short(elements), grid, zero)
        return kernel

    return fill


def image(generator, elements):
    return codes(generator, elements, (1, *(int(v) for v in generator.integers(6, 14, 2)), 8))


def reduced(function):
    def draw(generator, elements):
        shape, axes, keep = any_axes(generator)
        x = codes(generator, elements, shape)
        return [x], options("ReducerOptions", keepDims=keep), [axes], function(x, axis=axes, keepdims=keep)

    return draw


def pooled(function):
    """Windows of a random size, stride and padding; `function` makes a code of the elements of one."""

    def draw(generator, elements):
        x, same = image(generator, elements), bool(generator.random() < 0.5)
        (height, width), (down, right) = generator.integers(1, 6, 2), generator.integers(1, 4, 2)
        plain = window("Pool2DOptions", (int(down), int(right)), "SAME" if same else "VALID",
                       filterHeight=int(height), filterWidth=int(width))  # fmt: skip

        def along(extent, size, stride):
            count = -(-extent // stride) if same else (extent - size) // stride + 1
            begin = max((count - 1) * stride + size - extent, 0) // 2 if same else 0
            starts = [at * stride - begin for at in range(count)]
            return [slice(max(start, 0), min(start + size, extent)) for start in starts]

        rows, columns = along(x.shape[1], height, down), along(x.shape[2], width, right)
        expected = [[function(x[:, row, column].astype(WIDE)) for column in columns] for row in rows]
        return [x], plain, [], np.array(expected)[:, :, 0][None]

    return draw


def quotient(elements):
    """The sum of a window by the number of its elements, halves away from zero."""
    sums, count = elements.sum((1, 2)), elements.shape[1] * elements.shape[2]
    return np.sign(sums) * ((2 * np.abs(sums) + count) // (2 * count))


def reshape(generator, elements):
    x = image(generator, elements)
    shape = (x.shape[1], -1)
    return [x], options("ReshapeOptions", newShape=list(shape)), [shape], x.reshape(shape)


def transpose(generator, elements):
    x, order = image(generator, elements), generator.permutation(4)
    return [x], options("TransposeOptions"), [order], x.transpose(order)


def pad(generator, elements):
    x, widths = image(generator, elements), [(0, 0), *generator.integers(0, 4, (2, 2)), (0, 0)]
    return [x], options("PadOptions"), [widths], lambda zero: np.pad(x, widths, constant_values=zero)


def concatenation(generator, elements):
    x = image(generator, elements)
    y = codes(generator, elements, x.shape)
    return [x, y], options("ConcatenationOptions", axis=3), [], np.concatenate([x, y], 3)


def nearest(generator, elements):
    x, factor = image(generator, elements), int(generator.integers(2, 4))
    plain = options("ResizeNearestNeighborOptions", alignCorners=False, halfPixelCenters=False)
    return [x], plain, [[x.shape[1] * factor, x.shape[2] * factor]], x.repeat(factor, 1).repeat(factor, 2)


def cut(generator, elements):
    x = image(generator, elements)
    begins, sizes = [0, 1, 2, 3], [1, x.shape[1] - 2, x.shape[2] - 4, 4]
    within = tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True))
    return [x], options("SliceOptions"), [begins, sizes], x[within]


def relu(generator, elements):
    x = image(generator, elements)
    return [x], None, [], lambda zero: np.maximum(x, zero)


OTHERS = ["one rounding, half up", "factor in f32"]
TWICE = ["litert::convolution", *OTHERS]

KERNELS = [
    layers(conv_2d, "CONV_2D", "litert::convolution", OTHERS),
    layers(conv_2d, "CONV_2D", "litert::convolution", OTHERS, per_channel=False),
    layers(depthwise_conv_2d, "DEPTHWISE_CONV_2D", "litert::convolution", OTHERS, depth=1),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected", TWICE, exponents=(3, 20)),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected", TWICE, exponents=(3, 20), per_channel=False),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected_in_f64", ["litert::fully_connected", *TWICE]),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected_in_f64", ["litert::fully_connected", *TWICE],
           per_channel=False),
    multiplied("int8", np.int8, "litert::multiplication"),
    summed("ADD", np.int8),
    summed("SUB", np.int8),
    batch_matmul,
    mean(False),
    mean(True),
    mean_over("the last axis", last_axis),
    mean_over("any axes", any_axes),
    sums,
    on_one_grid("REDUCE_MAX", reduced(np.max)),
    on_one_grid("REDUCE_MIN", reduced(np.min)),
    on_one_grid("MAX_POOL_2D", pooled(lambda elements: elements.max((1, 2)))),
    on_one_grid("AVERAGE_POOL_2D", pooled(quotient)),
    on_one_grid("RESHAPE", reshape),
    on_one_grid("TRANSPOSE", transpose),
    on_one_grid("PAD", pad),
    on_one_grid("SLICE", cut),
    on_one_grid("CONCATENATION", concatenation),
    on_one_grid("RESIZE_NEAREST_NEIGHBOR", nearest),
    on_one_grid("RELU", relu),
    quantize(np.int8),
    quantize(np.int16),
    requantize(np.int8, np.int8),
    requantize(np.int8, np.int16),
    requantize(np.int16, np.int8),
    requantize(np.int16, np.int16),
    layers(conv_2d, "CONV_2D", "litert::sixteen_by_eight", OTHERS, np.int16, exponents=(10, 40)),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected_in_f64", ["litert::sixteen_by_eight"], np.int16,
           exponents=(10, 40)),
    wrapping(conv_2d, "CONV_2D", "litert::convolution"),
    wrapping(fully_connected, "FULLY_CONNECTED", "litert::fully_connected_in_f64"),
    *litert_functions.KERNELS,
    layers(depthwise_conv_2d, "DEPTHWISE_CONV_2D", "litert::sixteen_by_eight", OTHERS, np.int16, exponents=(10, 40), depth=1),
    layers(conv_2d, "CONV_2D", "litert::sixteen_by_eight", [], np.int16, exponents=(46, 51)),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected_in_f64", [], np.int16, exponents=(46, 51)),
    layers(transpose_conv, "TRANSPOSE_CONV", "litert::convolution", OTHERS),
    layers(transpose_conv, "TRANSPOSE_CONV", "litert::sixteen_by_eight", OTHERS, np.int16, exponents=(10, 40)),
    layers(conv_2d, "CONV_2D", "litert::convolution", OTHERS, np.int16, exponents=(10, 31), bias=np.int32),
    layers(transpose_conv, "TRANSPOSE_CONV", "litert::convolution", OTHERS, np.int16, exponents=(10, 31), bias=np.int32),
    layers(conv_2d, "CONV_2D", "litert::convolution", OTHERS, bits=4),
    layers(depthwise_conv_2d, "DEPTHWISE_CONV_2D", "litert::convolution", OTHERS, bits=4, depth=1),
    layers(conv_2d, "CONV_2D", "litert::sixteen_by_eight", OTHERS, np.int16, exponents=(10, 40), bits=4),
    *(layers(conv_2d, "CONV_2D", "litert::sixteen_by_eight", [], np.int16, exponents=(10, 40), activation=activation)
      for activation in ("RELU", "RELU_N1_TO_1", "RELU6")),
    layers(conv_2d, "CONV_2D", "litert::convolution", [], activation="RELU6"),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected_in_f64", [], np.int16, exponents=(10, 40), activation="RELU6"),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected_in_f64", [], np.int16, exponents=(10, 31), bias=np.int32),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected_in_f64", [], bits=4),
    wide_batch_matmul(np.int16),
    wide_batch_matmul(np.int8),
    summed("ADD", np.int16),
    summed("SUB", np.int16),
    multiplied("int16", np.int16, "litert::multiplication"),
    mean(False, np.int16),
    mean(True, np.int16),
    on_one_grid("MAX_POOL_2D", pooled(lambda elements: elements.max((1, 2))), np.int16),
    on_one_grid("AVERAGE_POOL_2D", pooled(quotient), np.int16),
    on_one_grid("CONCATENATION", concatenation, np.int16),
    # LiteRT's older quantization: codes without a sign, weights among them, with one zero point each.
    layers(conv_2d, "CONV_2D", "litert::convolution", OTHERS, np.uint8, per_channel=False),
    layers(depthwise_conv_2d, "DEPTHWISE_CONV_2D", "litert::convolution", OTHERS, np.uint8, per_channel=False, depth=1),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected", TWICE, np.uint8, exponents=(3, 20), per_channel=False),
    layers(fully_connected, "FULLY_CONNECTED", "litert::fully_connected_in_f64", TWICE, np.uint8, per_channel=False),
    quantize(np.uint8),
    requantize(np.int8, np.uint8),
    requantize(np.uint8, np.int8),
    on_one_grid("MAX_POOL_2D", pooled(lambda elements: elements.max((1, 2))), np.uint8),
    on_one_grid("AVERAGE_POOL_2D", pooled(quotient), np.uint8),
    on_one_grid("RESHAPE", reshape, np.uint8),
    on_one_grid("TRANSPOSE", transpose, np.uint8),
    on_one_grid("PAD", pad, np.uint8),
    on_one_grid("SLICE", cut, np.uint8),
    on_one_grid("CONCATENATION", concatenation, np.uint8),
    on_one_grid("RESIZE_NEAREST_NEIGHBOR", nearest, np.uint8),
    on_one_grid("RELU", relu, np.uint8),
    *litert_resize.KERNELS,
    *(on_one_grid(name, draw, elements) for elements in (np.int8, np.int16) for name, draw in litert_moves.DRAWS.items()),
    *(on_one_grid(name, litert_moves.DRAWS[name], np.uint8) for name in ("GATHER", "BROADCAST_TO")),
]  # fmt: skip


if __name__ == "__main__":
    main()
