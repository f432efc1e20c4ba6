#!/usr/bin/env python3
"""Vectors of ONNX Runtime's quantized operators (CPU). Started by `cargo xtask oracles`.

Biases lead the accumulators over their range and beside the steps of the result; elementwise operators see every pair of
codes. What follows from an accumulator is float arithmetic here, without regard to how the accumulator came about.
"""

import argparse
from pathlib import Path

import numpy as np
import onnxruntime
import peers
from onnx import helper, numpy_helper
from vectors import WIDE, Kernel, codes, per, power, real, scale, short

PROGRAM = f"ONNX Runtime {onnxruntime.__version__}, CPU"
CHANNELS, DEPTH, PIXELS = 32, 8, 24
CONTRIB = "com.microsoft"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for seed, kernel in enumerate(KERNELS):
        kernel(np.random.default_rng(seed)).write(folder)


def run(operator, result, inputs, constants, domain="", **attributes):
    """The result, of type `result`, of a model of one operator; its operands at the positions `inputs` are fed."""
    names = [f"operand{k}" if value is not None else "" for k, value in enumerate(constants)]
    types = {k: helper.np_dtype_to_tensor_dtype(constants[k].dtype) for k in inputs}
    result = np.dtype(result)
    infos = [helper.make_tensor_value_info(names[k], types[k], constants[k].shape) for k in inputs]
    initializers = [numpy_helper.from_array(np.asarray(value), names[k]) for k, value in enumerate(constants)
                    if k not in inputs and value is not None]  # fmt: skip
    output = helper.make_tensor_value_info("result", helper.np_dtype_to_tensor_dtype(result), None)
    node = helper.make_node(operator, names, ["result"], domain=domain, **attributes)
    graph = helper.make_graph([node], "one", infos, [output], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(CONTRIB, 1)])
    model.ir_version = 10
    session = peers.session(model.SerializeToString())
    return session.run(None, {names[k]: constants[k] for k in inputs})[0]


def some_scale(generator):
    return (power if generator.random() < 0.25 else scale)(generator)


# ---- products ----


def layer(generator, elements, per_channel):
    """Operands of a product whose accumulators are its biases and little more."""
    many = CHANNELS if per_channel else 1
    exponents = generator.integers(3, 31, many).astype(np.float64)
    source, target = some_scale(generator), some_scale(generator)
    weights = (2.0 ** (7 - exponents + generator.uniform(-2, 1)) * target / source).astype(np.float32)
    limits = np.iinfo(elements)
    zero, out_zero = (int(z) for z in generator.integers(limits.min, limits.max, 2, endpoint=True))
    if generator.random() < 0.5:
        # Weights of 7 bits: where a product of u8 and s8 saturates, on machines without VNNI, these do not.
        x, w = codes(generator, elements, (PIXELS, DEPTH)), generator.integers(-64, 64, (CHANNELS, DEPTH))
        biases = generator.uniform(-(2.0**exponents), 2.0**exponents, CHANNELS)
    else:
        x = np.clip(generator.integers(-12, 13, (PIXELS, 1)) + zero, limits.min, limits.max)
        w = np.ones((CHANNELS, 1))
        steps = generator.integers(limits.min, limits.max, CHANNELS) - out_zero + 0.5
        biases = np.round(steps * (np.float64(target) / (np.float64(source) * weights.astype(np.float64))))
        biases = np.clip(biases, -(2.0**30), 2.0**30)
    x, w, biases = x.astype(elements), w.astype(np.int8), biases.astype(np.int32)
    acc = (x.astype(WIDE) - zero) @ w.T.astype(WIDE) + biases
    return x, w, biases, acc, (source, zero), weights, (target, out_zero)


def scalar(grid, elements):
    return [np.float32(grid[0]), np.array(grid[1], elements)]


def weight_grid(weights, per_channel):
    weights = weights if per_channel else weights[0]
    return [np.asarray(weights, np.float32), np.zeros(np.shape(weights), np.int8)]


def convolved(x, w, biases, grid, weights, out, elements, per_channel):
    image = np.ascontiguousarray(x.T).reshape(1, -1, PIXELS, 1)
    operands = [image, *scalar(grid, elements), w.reshape(CHANNELS, -1, 1, 1), *weight_grid(weights, per_channel),
                *scalar(out, elements), biases]  # fmt: skip
    return run("QLinearConv", elements, [0], operands).reshape(CHANNELS, PIXELS).T


def gemm(x, w, biases, grid, weights, out, elements, per_channel):
    operands = [x, *scalar(grid, elements), w, *weight_grid(weights, per_channel), biases, *scalar(out, elements)]
    return run("QGemm", elements, [0], operands, CONTRIB, transB=1)


def products(name, operator, elements, per_channel, others):
    def fill(generator):
        kind = "per channel" if per_channel else "per tensor"
        rule = "onnx_runtime::convolution"
        kernel = Kernel(PROGRAM, f"{name}, {short(elements)} × i8, {kind}", rule, others)
        while len(kernel.data["cases"]) < 100:
            x, w, biases, acc, grid, weights, out = layer(generator, elements, per_channel)
            y = operator(x, w, biases, grid, weights, out, elements, per_channel)
            rows = (acc.T, y.T) if per_channel else ([acc.T], [y.T])
            kernel.add(*rows, short(elements), *out, inputs=[real(grid[0])], weights=per(weights if per_channel else weights[0]))
        return kernel

    return fill


def matmul(elements):
    def fill(generator):
        kernel = Kernel(PROGRAM, f"QLinearMatMul, {short(elements)} × i8", "onnx_runtime::convolution",
                        ["(input / output) · weight", "zero point inside"])  # fmt: skip
        limits = np.iinfo(elements)
        for _ in range(120):
            depth = int(generator.choice([1, 4, 64]))
            zero, out_zero = (int(z) for z in generator.integers(limits.min, limits.max, 2, endpoint=True))
            a, b, target = some_scale(generator), some_scale(generator), None
            x, w = codes(generator, elements, (48, depth)), generator.integers(-64, 64, (depth, 40)).astype(np.int8)
            acc = (x.astype(WIDE) - zero) @ w.astype(WIDE)
            target = np.float32(a * b * 2.0 ** generator.integers(5, 9) * np.sqrt(depth))
            if depth < 64:
                target = np.float32(np.float64(a) * np.float64(b) * generator.integers(1, 200) * 2)
            y = run("QLinearMatMul", elements, [0], [x, *scalar((a, zero), elements), w, np.float32(b), np.array(0, np.int8),
                                           *scalar((target, out_zero), elements)])  # fmt: skip
            kernel.add([acc], [y], short(elements), target, out_zero, inputs=[real(a)], weights=per(b))
        return kernel

    return fill


# ---- elementwise ----


def pairs(operator, elements, rule, others):
    def fill(generator):
        kernel = Kernel(PROGRAM, f"{operator}, {short(elements)}", rule, others)
        limits = np.iinfo(elements)
        every = np.arange(limits.min, limits.max + 1).astype(elements)
        a, b = (np.ascontiguousarray(t) for t in np.meshgrid(every, every))
        for _ in range(16):
            grids = [(some_scale(generator), int(generator.integers(limits.min, limits.max + 1))) for _ in range(3)]
            if operator == "QLinearMul":
                grids[2] = (np.float32(grids[0][0] * grids[1][0] * 2.0 ** generator.uniform(4, 9)), grids[2][1])
            else:
                grids[2] = (np.float32(max(grids[0][0], grids[1][0]) * 2.0 ** generator.uniform(-1, 2)), grids[2][1])
            if generator.random() < 0.25:
                # Halves and quarters: with ties.
                grids[2] = (np.float32(grids[0][0] * 2.0 ** generator.integers(1, 4)), grids[2][1])
                grids[1] = (np.float32(1.0) if operator == "QLinearMul" else grids[0][0], grids[1][1])
            (sa, za), (sb, zb), out = grids
            y = run(operator, elements, [0, 3], [a, *scalar(grids[0], elements), b, *scalar(grids[1], elements),
                                       *scalar(out, elements)], CONTRIB)  # fmt: skip
            kernel.add([a, b], [y], short(elements), *out, inputs=[real(sa), real(sb)], zeros=[za, zb])
        return kernel

    return fill


def quantize(elements):
    def fill(generator):
        kernel = Kernel(PROGRAM, f"QuantizeLinear, {short(elements)}", "QuantizeLinear", ["reciprocal, half even"])
        limits = np.iinfo(elements)
        for _ in range(40):
            target = some_scale(generator)
            zero = int(generator.integers(limits.min, limits.max, endpoint=True))
            x = generator.uniform(limits.min - 10, limits.max + 10, 4096) - zero
            x[::2] = np.floor(x[::2]) + 0.5
            x = (x * target).astype(np.float32)
            y = run("QuantizeLinear", elements, [0], [x, *scalar((target, zero), elements)])
            kernel.add([x.view(np.uint32)], [y], short(elements), target, zero)
        return kernel

    return fill


def concat(elements):
    def fill(generator):
        kernel = Kernel(PROGRAM, f"QLinearConcat, {short(elements)}", "dequantized, then QuantizeLinear")
        limits = np.iinfo(elements)
        every = np.arange(limits.min, limits.max + 1).astype(elements)
        for _ in range(400):
            source, zero = some_scale(generator), int(generator.integers(limits.min, limits.max + 1))
            other = (some_scale(generator), zero)
            ratio = generator.integers(-4, 5) if generator.random() < 0.5 else generator.uniform(-4, 4)
            out = (np.float32(source * 2.0**ratio), int(generator.integers(limits.min, limits.max + 1)))
            y = run("QLinearConcat", elements, [2, 5], [*scalar(out, elements), every, *scalar((source, zero), elements),
                                              every, *scalar(other, elements)], CONTRIB, axis=0)  # fmt: skip
            kernel.add([every], [y[: every.size]], short(elements), *out, inputs=[real(source)], zeros=[zero])
        return kernel

    return fill


# ---- means and functions ----


def global_average_pool(elements):
    def fill(generator):
        kernel = Kernel(PROGRAM, f"QLinearGlobalAveragePool, {short(elements)}", "onnx_runtime::mean", ["quotient, then count"])
        limits = np.iinfo(elements)
        for _ in range(200):
            count = int(generator.choice([1, 4, 9, 16, 25, 49, 64, 100, 196, 784]))
            source, zero = some_scale(generator), int(generator.integers(limits.min, limits.max + 1))
            ratio = generator.integers(-3, 2) if generator.random() < 0.3 else generator.uniform(-3, 1)
            target, out_zero = np.float32(source * 2.0**ratio), int(generator.integers(limits.min, limits.max + 1))
            x = codes(generator, elements, (1, 128, count, 1))
            if generator.random() < 0.5:
                # Neighbouring codes: their means lie apart.
                x = generator.integers(limits.min, limits.max + 1, (1, 128, 1, 1)) + generator.integers(-3, 4, x.shape)
                x = np.clip(x, limits.min, limits.max).astype(elements)
            y = run("QLinearGlobalAveragePool", elements, [0], [x, *scalar((source, zero), elements),
                                                              *scalar((target, out_zero), elements)],
                    CONTRIB, channels_last=0)  # fmt: skip
            sums = (x.astype(WIDE) - zero).sum((0, 2, 3))
            kernel.add([sums], [y], short(elements), target, out_zero, inputs=[real(source)], count=count)
        return kernel

    return fill


def function(operator, elements, rule, others, draw, note=None):
    def fill(generator):
        kernel = Kernel(PROGRAM, f"{operator}, {short(elements)}", rule, others, equal=note is None, note=note)
        limits = np.iinfo(elements)
        every = np.arange(limits.min, limits.max + 1).astype(elements)
        for _ in range(400):
            source, zero = scale(generator, 2e-3, 1), int(generator.integers(limits.min, limits.max + 1))
            target, out_zero, attributes = draw(generator, source, limits)
            y = run(operator, elements, [0], [every, *scalar((source, zero), elements), *scalar((target, out_zero), elements)],
                    CONTRIB, **attributes)  # fmt: skip
            given = {"parameter": real(np.float32(attributes["alpha"]))} if attributes else {}
            kernel.add([every], [y], short(elements), target, out_zero, inputs=[real(source)], zeros=[zero, zero], **given)
        return kernel

    return fill


def unit(generator, _, limits):
    if generator.random() < 0.5:
        return np.float32(1 / 256), limits.min, {}
    return scale(generator, 2e-3, 2e-2), int(generator.integers(limits.min, limits.min + 100)), {}


def near(generator, source, limits):
    ratio = generator.integers(-1, 2) if generator.random() < 0.3 else generator.uniform(-2, 1)
    slope = float(np.float32(generator.choice([0.01, 0.1, 0.2, 0.3])))
    return np.float32(source * 2.0**ratio), int(generator.integers(limits.min, limits.max + 1)), {"alpha": slope}


KERNELS = []
for _elements in (np.uint8, np.int8):
    for _per_channel in (True, False):
        _others = ["(input / output) · weight", "zero point inside"]
        KERNELS += [
            products("QLinearConv", convolved, _elements, _per_channel, _others),
            products("QGemm", gemm, _elements, _per_channel, _others),
        ]
    KERNELS += [
        matmul(_elements),
        pairs("QLinearMul", _elements, "onnx_runtime::multiplication", ["zero point outside"]),
        pairs("QLinearAdd", _elements, "onnx_runtime::addition", []),
        quantize(_elements),
        concat(_elements),
        global_average_pool(_elements),
        function("QLinearSigmoid", _elements, "onnxruntime.logistic.v1", ["nearest.v1, logistic"], unit),
        function("QLinearLeakyRelu", _elements, "onnxruntime.leaky_relu.v1", ["nearest leaky ReLU"], near),
    ]


if __name__ == "__main__":
    main()
