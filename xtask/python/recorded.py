"""Layers that LiteRT and ONNX Runtime ran, recorded as a chip's are (docs/plugins/silicon.md), and what we make of them.

`strait identify` has to find the runtime's own rule among its answers, and to refute those that the data tells apart.
`strait plugin check` has to replay them with the kernels of `generic-int8`.
"""

import json
import subprocess

import litert
import numpy as np
import onnxruntime_vectors
from litert import Tensor, options, window
from vectors import WIDE, codes

ROWS, DEPTH, CHANNELS = 50_000, 16, 4
INPUT, WEIGHTS, OUTPUT = np.float32(0.0213), np.float32([0.0037, 0.0051, 0.0029, 0.0072]), np.float32(0.0475)
ZERO, OUT_ZERO = -7, 5

# Of each layer the rule, and those that must not explain it. LiteRT's product with one rounding and ONNX Runtime's in float32
# differ at ties alone, and with these scales no sum is one: the same layers have both among their answers.
LITERT = "litert-convolution"
EXPECTED = {
    "litert/conv_2d": (LITERT, ["litert-single-rounding", "litert-fully-connected", "onnxruntime-convolution"]),
    "litert/depthwise_conv_2d": (LITERT, ["litert-single-rounding", "onnxruntime-convolution"]),
    "litert/fully_connected": ("litert-fully-connected", [LITERT]),
    "onnxruntime/qlinearconv": ("onnxruntime-convolution", [LITERT]),
    "onnxruntime/qgemm": ("onnxruntime-convolution", [LITERT]),
}


def operands(generator, depth):
    """Codes whose sums reach over all codes of the result."""
    x = codes(generator, np.int8, (ROWS, depth))
    w = generator.integers(-64, 64, (CHANNELS, depth)).astype(np.int8)
    biases = generator.integers(-2000, 2000, CHANNELS).astype(np.int32)
    return x, w, biases


def layers(generator):
    """Name, accumulators, outputs, and scales of the weights of each layer."""
    x, w, biases = operands(generator, DEPTH)
    sums = (x.astype(WIDE) - ZERO) @ w.T.astype(WIDE) + biases
    one = WEIGHTS[:1]

    def run(operator, plain, image, kernel, weights, shape, axis=0):
        given = [Tensor(kernel, weights, 0, axis), Tensor(biases, INPUT * weights)]
        out = litert.result(shape, np.int8, OUTPUT, OUT_ZERO)
        made = litert.run(operator, plain, [Tensor(image, INPUT, ZERO)], given, out)
        return made.reshape(ROWS, CHANNELS)

    image, kernel = x.reshape(1, ROWS, 1, DEPTH), w.reshape(CHANNELS, 1, 1, DEPTH)
    shape = (1, ROWS, 1, CHANNELS)
    yield "litert/conv_2d", sums, run("CONV_2D", window("Conv2DOptions"), image, kernel, WEIGHTS, shape), WEIGHTS
    made = run("FULLY_CONNECTED", options("FullyConnectedOptions"), x, w, one, (ROWS, CHANNELS))
    yield "litert/fully_connected", sums, made, one
    grids = [INPUT, np.int8(ZERO)], [OUTPUT, np.int8(OUT_ZERO)]
    ort, none = onnxruntime_vectors.run, np.zeros(CHANNELS, np.int8)
    flat = np.ascontiguousarray(x.T).reshape(1, DEPTH, ROWS, 1)
    given = [flat, *grids[0], w.reshape(CHANNELS, DEPTH, 1, 1), WEIGHTS, none, *grids[1], biases]
    made = ort("QLinearConv", np.int8, [0], given).reshape(CHANNELS, ROWS).T
    yield "onnxruntime/qlinearconv", sums, made, WEIGHTS
    given = [x, *grids[0], w, one[0], np.int8(0), biases, *grids[1]]
    made = ort("QGemm", np.int8, [0], given, onnxruntime_vectors.CONTRIB, transB=1)
    yield "onnxruntime/qgemm", sums, made, one
    # One tap for each channel: sums of 8 bits times 8.
    x, w = x[:, :CHANNELS], w[:, 0]
    sums = (x.astype(WIDE) - ZERO) * w.astype(WIDE) + biases
    plain = window("DepthwiseConv2DOptions", depthMultiplier=1)
    image, kernel = np.ascontiguousarray(x).reshape(1, ROWS, 1, CHANNELS), w.reshape(1, 1, 1, CHANNELS)
    made = run("DEPTHWISE_CONV_2D", plain, image, kernel, WEIGHTS, shape, axis=3)
    yield "litert/depthwise_conv_2d", sums, made, WEIGHTS


def record(path):
    """Writes the layers, each with its scales."""
    arrays = {}
    for name, sums, outputs, weights in layers(np.random.default_rng(41)):
        arrays |= {
            f"{name}/accumulator": sums.astype(np.int32),
            f"{name}/output": outputs,
            f"{name}/zero_point": np.int32(OUT_ZERO),
            f"{name}/input_scale": INPUT,
            f"{name}/weight_scale": weights if len(weights) > 1 else weights[0],
            f"{name}/output_scale": OUTPUT,
        }
    np.savez_compressed(path, **arrays)


def compared(strait, work):
    """Whether each thing is as it should be, and what it is."""
    work.mkdir(parents=True, exist_ok=True)
    file = work / "recorded.npz"
    record(file)
    done = subprocess.run([strait, "identify", file, "--json"], capture_output=True, check=False, text=True)
    found = {layer["layer"]: layer for layer in json.loads(done.stdout)["layers"]}
    for name, (rule, others) in EXPECTED.items():
        explained = [one["name"] for one in found[name]["explained"]]
        yield rule in explained, f"{name}: {rule} explains all {found[name]['outputs']} recorded outputs"
        wrong = [other for other in others if other in explained]
        yield not wrong, f"{name}: and not {', '.join(wrong or others)}"
    command = [strait, "plugin", "check", "generic-int8", "--vectors", file, "--json"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    lines = {line["name"]: line for line in json.loads(done.stdout)["lines"] if line["group"] == "silicon"}
    for name in EXPECTED:
        good = lines[name]["outcome"] == "passed"
        yield good, f"{name}: generic-int8 replays it: {lines[name]['checked']} {'; '.join(lines[name]['findings'])}"
