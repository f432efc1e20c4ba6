"""Vectors of LiteRT's functions that are no requantizations: softmax, and functions of one code."""

import litert
import numpy as np
from litert import PROGRAM, Tensor, options, result
from vectors import Kernel, codes, power, real, scale, short


def name_of(operator, elements):
    return f"{operator}, {np.dtype(elements).name}"


def softmax(elements, rule):
    """Rows of all lengths, of codes all over the type and of codes around the ends of what the exponential tells from zero."""
    output, zero = (np.float32(2.0**-8), -128) if elements == np.int8 else (np.float32(2.0**-15), 0)

    def fill(generator):
        kernel = Kernel(PROGRAM, name_of("SOFTMAX", elements), rule, ["nearest softmax"])
        for case in range(100):
            length = int(generator.choice([1, 2, 3, 10, 49, 100, 197, 511, 2000 if elements == np.int16 else 400]))
            beta = np.float32(generator.choice([1, 1, 1, 0.125, 0.5, 3]))
            low, high = (1e-5, 3) if elements == np.int8 else (1e-6, 4.9)
            step = power(generator, -14, 1) if case % 4 == 0 else np.float32(scale(generator, low, high) / beta)
            shape = (max(2048 // length, 1), length)
            x = codes(generator, elements, shape)
            if case % 2:
                limits = np.iinfo(elements)
                spread = generator.uniform(0.3, 8) / (step * beta)
                x = np.clip(generator.normal(0, spread, shape).round(), limits.min, limits.max).astype(elements)
            y = litert.run("SOFTMAX", options("SoftmaxOptions", beta=float(beta)), [Tensor(x, step)], [],
                           result(shape, elements, output, zero))  # fmt: skip
            kernel.add(x, y, short(elements), output, zero, inputs=[real(step)], parameter=real(beta))
        return kernel

    return fill


def every_code(generator, elements):
    """All codes of int8; of int16 the ends, the middle and random ones."""
    if elements == np.int8:
        return np.arange(-128, 128).astype(elements)
    near = np.arange(-300, 300).astype(elements)
    return np.concatenate([near, [-32768, 32767, 32766], codes(generator, elements, 1445)]).astype(elements)


def pointwise(operator, elements, rule, other, draw, count=400):
    """A function of one code; `draw` gives the grids of operand and result, the options and the parameter."""

    def fill(generator):
        kernel = Kernel(PROGRAM, name_of(operator, elements), rule, [other])
        for _ in range(count):
            (step, zero), (output, output_zero), plain, parameter = draw(generator)
            x = every_code(generator, elements)
            y = litert.run(operator, plain, [Tensor(x, step, zero)], [], result(x.shape, elements, output, output_zero))
            more = {} if parameter is None else {"parameter": real(parameter)}
            kernel.add([x], [y], short(elements), output, output_zero, inputs=[real(step)], zeros=[zero, output_zero], **more)
        return kernel

    return fill


def zero_point(generator):
    return int(generator.integers(-128, 128))


def grid(generator, low, high):
    return np.float32(2.0 ** generator.integers(np.log2(low), np.log2(high))) if generator.random() < 0.25 else scale(generator, low, high)


def logistic_int8(generator):
    return (grid(generator, 1e-3, 1), zero_point(generator)), (np.float32(2.0**-8), -128), None, None


def tanh_int8(generator):
    usual = generator.random() < 0.5
    output = (np.float32(2.0**-7), 0) if usual else (grid(generator, 1e-3, 0.1), zero_point(generator))
    return (grid(generator, 1e-3, 1), zero_point(generator)), output, None, None


def sigmoid_int16(generator):
    """A quarter of the scales is near or beside those that LiteRT takes for powers of two."""
    step = grid(generator, 1e-7, 5)
    if generator.random() < 0.25:
        beside = generator.choice([0x397FD29C, 0x398016B5, 0x39FFD298, 0x3A0016B7]) + generator.integers(-2, 3)
        step = np.array(beside, np.uint32).view(np.float32)[()]
    return (step, 0), (np.float32(2.0**-15), 0), None, None


def hard_swish_int8(generator):
    step = grid(generator, 1e-3, 4)
    output = np.float32(step * 2.0 ** generator.uniform(-3, 1))
    return (step, zero_point(generator)), (output, zero_point(generator)), None, None


def leaky_relu(elements):
    def draw(generator):
        step = grid(generator, 1e-4, 1)
        exact = generator.random() < 0.25
        output = np.float32(step * 2.0 ** (generator.integers(-4, 4) if exact else generator.uniform(-3, 3)))
        slope = np.float32(2.0 ** generator.integers(-6, 1) if exact else generator.uniform(-0.2, 1.5))
        zeros = (0, 0) if elements == np.int16 else (zero_point(generator), zero_point(generator))
        return (step, zeros[0]), (output, zeros[1]), options("LeakyReluOptions", alpha=float(slope)), slope

    return draw


def relu(operator, elements, ends):
    """A ReLU between two grids: a requantization, and a clamp at its ends."""

    def fill(generator):
        kernel = Kernel(PROGRAM, f"{name_of(operator, elements)}, two grids", "litert::relu", ["factor in f64"])
        for _ in range(60):
            zeros = (0, 0) if elements == np.int16 else (zero_point(generator), zero_point(generator))
            step = grid(generator, 1e-4, 1)
            output = np.float32(step * 2.0 ** generator.uniform(-3, 3))
            x = every_code(generator, elements)
            y = litert.run(operator, None, [Tensor(x, step, zeros[0])], [], result(x.shape, elements, output, zeros[1]))
            kernel.add([x.astype(np.int64) - zeros[0]], [y], short(elements), output, zeros[1],
                       inputs=[real(step), 1.0], clamp=ends)  # fmt: skip
        return kernel

    return fill


KERNELS = [
    *(relu(name, elements, ends)
      for name, ends in (("RELU", [0, None]), ("RELU6", [0, 6])) for elements in (np.int8, np.int16)),
    softmax(np.int8, "litert.softmax.int8.v1"),
    softmax(np.int16, "litert.softmax.int16.v1"),
    pointwise("LOGISTIC", np.int8, "litert.logistic.int8.v1", "nearest logistic", logistic_int8),
    pointwise("TANH", np.int8, "litert.tanh.int8.v1", "nearest tanh", tanh_int8),
    pointwise("LOGISTIC", np.int16, "litert.logistic.int16.v1", "nearest logistic", sigmoid_int16, 100),
    pointwise("TANH", np.int16, "litert.tanh.int16.v1", "nearest tanh", sigmoid_int16, 100),
    pointwise("HARD_SWISH", np.int8, "litert.hard_swish.int8.v1", "nearest hard swish", hard_swish_int8),
    pointwise("LEAKY_RELU", np.int8, "litert.leaky_relu.v1", "nearest leaky ReLU", leaky_relu(np.int8)),
    pointwise("LEAKY_RELU", np.int16, "litert.leaky_relu.v1", "nearest leaky ReLU", leaky_relu(np.int16), 100),
]
