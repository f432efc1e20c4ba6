#!/usr/bin/env python3
"""Train the digits network and write its data set beside it:  train.py [OUT]

Needs numpy, onnx and scikit-learn (which carries the images). The loops are plain numpy: forward and backward by
im2col, Adam, cross entropy. The seed is fixed, so two runs on one machine give the same bytes; another BLAS may sum in
another order and give slightly different weights. One run takes some ten seconds.

    image [N,1,8,8]  ->  stem: conv 3x3, BatchNorm, Relu                                        16 x 8 x 8
                     ->  block: depthwise 3x3, BatchNorm, Relu, pointwise, BatchNorm, + skip, Relu   16 x 8 x 8
                     ->  pool: max 2x2                                                          16 x 4 x 4
                     ->  head: conv 3x3, BatchNorm, Relu                                        32 x 4 x 4
                     ->  average over the plane, fully connected                                10
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

SEED = 20240229
CALIBRATION, EVALUATION = 128, 640  # the remaining 1029 images train the network
EPOCHS, BATCH, RATE, DECAY = 60, 32, 4e-3, 5e-2
OPSET = 17


class Parameter:
    """A trained array with its gradient and Adam's two moments."""

    def __init__(self, value, decay=0.0):
        self.value = value.astype(np.float32)
        self.gradient = np.zeros_like(self.value)
        self.first = np.zeros_like(self.value)
        self.second = np.zeros_like(self.value)
        self.decay = decay

    def step(self, rate, time):
        # Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
        self.first += 0.1 * (self.gradient - self.first)
        self.second += 0.001 * (self.gradient**2 - self.second)
        mean = self.first / (1 - 0.9**time)
        variance = self.second / (1 - 0.999**time)
        self.value -= rate * (mean / (np.sqrt(variance) + 1e-8) + self.decay * self.value)


class Conv:
    """Convolution, stride 1, `pad` zeros around, no bias; weight [out, in / groups, k, k]."""

    def __init__(self, rng, inputs, outputs, kernel, groups=1):
        fan_in = inputs // groups * kernel * kernel
        weight = rng.standard_normal((outputs, inputs // groups, kernel, kernel)) * np.sqrt(2 / fan_in)
        self.weight = Parameter(weight, DECAY)
        self.kernel, self.pad, self.groups = kernel, kernel // 2, groups

    def parameters(self):
        return [self.weight]

    def forward(self, x, training):
        n, channels, height, width = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (self.pad, self.pad), (self.pad, self.pad)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (self.kernel, self.kernel), axis=(2, 3))
        # columns [groups, n·h·w, in/groups · k · k] times weight [groups, in/groups · k · k, out/groups]
        windows = windows.reshape(n, self.groups, channels // self.groups, height, width, self.kernel, self.kernel)
        self.columns = np.ascontiguousarray(windows.transpose(1, 0, 3, 4, 2, 5, 6)).reshape(
            self.groups, n * height * width, -1
        )
        y = self.columns @ self.matrix().transpose(0, 2, 1)
        self.shape = x.shape
        return y.reshape(self.groups, n, height, width, -1).transpose(1, 0, 4, 2, 3).reshape(n, -1, height, width)

    def matrix(self):
        return self.weight.value.reshape(self.groups, self.weight.value.shape[0] // self.groups, -1)

    def backward(self, dy):
        n, channels, height, width = self.shape
        k, pad = self.kernel, self.pad
        dy = dy.reshape(n, self.groups, -1, height, width).transpose(1, 0, 3, 4, 2)
        dy = dy.reshape(self.groups, n * height * width, -1)
        self.weight.gradient = (dy.transpose(0, 2, 1) @ self.columns).reshape(self.weight.value.shape)
        dcolumns = (dy @ self.matrix()).reshape(self.groups, n, height, width, channels // self.groups, k, k)
        dcolumns = dcolumns.transpose(1, 0, 4, 2, 3, 5, 6).reshape(n, channels, height, width, k, k)
        dx = np.zeros((n, channels, height + 2 * pad, width + 2 * pad), np.float32)
        for i in range(k):
            for j in range(k):
                dx[:, :, i : i + height, j : j + width] += dcolumns[..., i, j]
        return dx[:, :, pad : pad + height, pad : pad + width]


class BatchNorm:
    """y = gamma · (x − mean) / sqrt(variance + eps) + beta per channel; running moments for inference."""

    EPSILON, MOMENTUM = 1e-5, 0.1

    def __init__(self, channels):
        self.gamma, self.beta = Parameter(np.ones(channels)), Parameter(np.zeros(channels))
        self.mean, self.variance = np.zeros(channels, np.float32), np.ones(channels, np.float32)

    def parameters(self):
        return [self.gamma, self.beta]

    def forward(self, x, training):
        mean, variance = self.mean, self.variance
        if training:
            mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.mean = (1 - self.MOMENTUM) * self.mean + self.MOMENTUM * mean
            self.variance = (1 - self.MOMENTUM) * self.variance + self.MOMENTUM * variance
        self.deviation = np.sqrt(variance + self.EPSILON)[None, :, None, None]
        self.normal = (x - mean[None, :, None, None]) / self.deviation
        return self.gamma.value[None, :, None, None] * self.normal + self.beta.value[None, :, None, None]

    def backward(self, dy):
        axes = (0, 2, 3)
        self.beta.gradient = dy.sum(axes)
        self.gamma.gradient = (dy * self.normal).sum(axes)
        # d/dx through mean and variance as well: dx = γ/σ · (dy − mean(dy) − x̂ · mean(dy · x̂))
        centred = dy - dy.mean(axes, keepdims=True) - self.normal * (dy * self.normal).mean(axes, keepdims=True)
        return self.gamma.value[None, :, None, None] / self.deviation * centred


class Relu:
    def parameters(self):
        return []

    def forward(self, x, training):
        self.positive = x > 0
        return np.where(self.positive, x, np.float32(0))

    def backward(self, dy):
        return np.where(self.positive, dy, np.float32(0))


class MaxPool:
    """2x2, stride 2."""

    def parameters(self):
        return []

    def forward(self, x, training):
        n, channels, height, width = x.shape
        tiles = x.reshape(n, channels, height // 2, 2, width // 2, 2).transpose(0, 1, 2, 4, 3, 5)
        tiles = tiles.reshape(n, channels, height // 2, width // 2, 4)
        self.shape, self.winner = x.shape, tiles.argmax(-1)[..., None]
        return np.take_along_axis(tiles, self.winner, -1)[..., 0]

    def backward(self, dy):
        n, channels, height, width = self.shape
        tiles = np.zeros((n, channels, height // 2, width // 2, 4), np.float32)
        np.put_along_axis(tiles, self.winner, dy[..., None], -1)
        return tiles.reshape(n, channels, height // 2, width // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(self.shape)


class GlobalAverage:
    def parameters(self):
        return []

    def forward(self, x, training):
        self.shape = x.shape
        return x.mean((2, 3))

    def backward(self, dy):
        return np.broadcast_to(dy[:, :, None, None] / (self.shape[2] * self.shape[3]), self.shape)


class Linear:
    """y = x · weightᵀ + bias; weight [out, in]."""

    def __init__(self, rng, inputs, outputs):
        self.weight = Parameter(rng.standard_normal((outputs, inputs)) / np.sqrt(inputs), DECAY)
        self.bias = Parameter(np.zeros(outputs))

    def parameters(self):
        return [self.weight, self.bias]

    def forward(self, x, training):
        self.x = x
        return x @ self.weight.value.T + self.bias.value

    def backward(self, dy):
        self.weight.gradient, self.bias.gradient = dy.T @ self.x, dy.sum(0)
        return dy @ self.weight.value


class Network:
    """The layers in the order of the module's doc; `block` has the skip around it."""

    def __init__(self, rng):
        self.stem = [Conv(rng, 1, 16, 3), BatchNorm(16), Relu()]
        self.block = [Conv(rng, 16, 16, 3, groups=16), BatchNorm(16), Relu(), Conv(rng, 16, 16, 1), BatchNorm(16)]
        self.head = [Relu(), MaxPool(), Conv(rng, 16, 32, 3), BatchNorm(32), Relu(), GlobalAverage(), Linear(rng, 32, 10)]

    def parameters(self):
        return [p for layer in self.stem + self.block + self.head for p in layer.parameters()]

    def forward(self, x, training=False):
        for layer in self.stem:
            x = layer.forward(x, training)
        skip = x
        for layer in self.block:
            x = layer.forward(x, training)
        x = x + skip
        for layer in self.head:
            x = layer.forward(x, training)
        return x

    def backward(self, dy):
        for layer in reversed(self.head):
            dy = layer.backward(dy)
        skip = dy
        for layer in reversed(self.block):
            dy = layer.backward(dy)
        dy = dy + skip
        for layer in reversed(self.stem):
            dy = layer.backward(dy)


def train(rng, x, y):
    network = Network(rng)
    steps = EPOCHS * (len(x) // BATCH)
    time = 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(x))
        for start in range(0, len(x) - BATCH + 1, BATCH):
            picked = order[start : start + BATCH]
            logits = network.forward(x[picked], training=True)
            exponentials = np.exp(logits - logits.max(1, keepdims=True))
            gradient = exponentials / exponentials.sum(1, keepdims=True)
            gradient[np.arange(BATCH), y[picked]] -= 1
            network.backward((gradient / BATCH).astype(np.float32))
            time += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * time / steps))
            for parameter in network.parameters():
                parameter.step(rate, time)
    return network


def to_onnx(network):
    """The graph as an exporter writes it in evaluation mode, BatchNorm kept as a node of its own."""
    nodes, weights = [], []

    def constant(name, value):
        weights.append(numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name))
        return name

    def node(op, path, inputs, **attributes):
        output = f"/{path}_output_0"
        nodes.append(helper.make_node(op, inputs, [output], name=f"/{path}", **attributes))
        return output

    def conv(layer, path, x):
        k, p = layer.kernel, layer.pad
        inputs = [x, constant(path.replace("/", ".") + ".weight", layer.weight.value)]
        window = {"kernel_shape": [k, k], "pads": [p] * 4, "strides": [1, 1], "dilations": [1, 1]}
        return node("Conv", f"{path}/Conv", inputs, group=layer.groups, **window)

    def norm(layer, path, x):
        prefix = path.replace("/", ".")
        affine = {"weight": layer.gamma.value, "bias": layer.beta.value}
        moments = {"running_mean": layer.mean, "running_var": layer.variance}
        inputs = [x] + [constant(f"{prefix}.{key}", value) for key, value in {**affine, **moments}.items()]
        attributes = {"epsilon": layer.EPSILON, "momentum": 1 - layer.MOMENTUM}
        return node("BatchNormalization", f"{path}/BatchNormalization", inputs, **attributes)

    def relu(path, x):
        return node("Relu", f"{path}/Relu", [x])

    stem, block, head = network.stem, network.block, network.head
    x = relu("stem/act", norm(stem[1], "stem/norm", conv(stem[0], "stem/conv", "image")))
    skip = x
    x = relu("block/act1", norm(block[1], "block/norm1", conv(block[0], "block/depthwise", x)))
    x = norm(block[4], "block/norm2", conv(block[3], "block/pointwise", x))
    x = relu("block/act2", node("Add", "block/Add", [x, skip]))
    x = node("MaxPool", "pool/MaxPool", [x], kernel_shape=[2, 2], pads=[0] * 4, strides=[2, 2], ceil_mode=0)
    x = relu("head/act", norm(head[3], "head/norm", conv(head[2], "head/conv", x)))
    x = node("Flatten", "Flatten", [node("GlobalAveragePool", "average/GlobalAveragePool", [x])], axis=1)
    inputs = [x, constant("classifier.weight", head[6].weight.value), constant("classifier.bias", head[6].bias.value)]
    nodes.append(helper.make_node("Gemm", inputs, ["logits"], name="/classifier/Gemm", alpha=1.0, beta=1.0, transB=1))
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 10])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="train.py")
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    digits = load_digits()
    images, labels = digits.images.astype(np.uint8)[..., None], digits.target.astype(np.uint8)  # [n,8,8,1], 0..16
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(images))
    held_out = CALIBRATION + EVALUATION
    calibration, evaluation, training = order[:CALIBRATION], order[CALIBRATION:held_out], order[held_out:]

    def floats(which):  # what the deployment's preprocessing does: scale by 1/16, NHWC to NCHW
        return (images[which].astype(np.float32) / 16).transpose(0, 3, 1, 2)

    network = train(rng, floats(training), labels[training])
    for name, which in (("training", training), ("evaluation", evaluation)):
        correct = (network.forward(floats(which)).argmax(1) == labels[which]).sum()
        print(f"{name}: {correct} of {len(which)} correct, {100 * correct / len(which):.2f} %")
    onnx.save(to_onnx(network), out / "digits.onnx")
    np.save(out / "calib_x.npy", images[calibration])
    np.save(out / "eval_x.npy", images[evaluation])
    np.save(out / "eval_y.npy", labels[evaluation])


if __name__ == "__main__":
    main()
