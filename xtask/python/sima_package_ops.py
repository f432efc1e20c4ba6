#!/usr/bin/env python3
"""Small networks of the ops that the model in the repository does not have, for the reader of sima's package:
sima_package_ops.py --strait BINARY --work FOLDER

Each is compiled for `sima`; `sima_package.py` computes its package with numpy, which must give the integers of
`strait run --raw`. Between them they have every op that the reader knows.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import processes
import sima_package

SAMPLES = 16

# Networks from x to y: the shape of x, the nodes, and the tensors that they read, random where only a shape is given.
NETWORKS = {
    "split": (
        (1, 4, 6, 6),
        """a, b, c = Split<axis = 1>(x, sizes)
           ab = Sub(a, b)
           y = Concat<axis = 1>(ab, c)""",
        {"sizes": [1, 1, 2]},
    ),
    "split along rows": (
        (1, 4, 6, 5),
        """top, bottom = Split<axis = 2>(x, sizes)
           y = Mul(top, bottom)""",
        {"sizes": [3, 3]},
    ),
    "slice": (
        (1, 6, 8, 7),
        """c = Conv<pads = [1, 1, 1, 1]>(x, w)
           y = Slice(c, starts, ends, axes, steps)""",
        {"w": (5, 6, 3, 3), "starts": [1, 7, -6], "ends": [5, 0, 100], "axes": [1, 2, 3], "steps": [2, -3, 1]},
    ),
    "pad": (
        (1, 3, 5, 4),
        """p = Pad<mode = "constant">(x, amounts, value)
           y = Conv<group = 3>(p, w)""",
        {"amounts": [0, 0, 1, 2, 0, 0, 0, 1], "value": np.float32(0.25), "w": (6, 1, 2, 3)},
    ),
    "resize": (
        (1, 2, 3, 4),
        """r = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, , scales)
           y = Sigmoid(r)""",
        {"scales": np.array([1, 1, 2, 3], np.float32)},
    ),
    "transpose": (
        (1, 3, 4, 5),
        """t = Transpose<perm = [0, 2, 3, 1]>(x)
           s = Squeeze(t, first)
           d = Add(s, s)
           y = Unsqueeze(d, first)""",
        {"first": [0]},
    ),
    "reshape": (
        (1, 4, 3, 2),
        """f = Flatten(x)
           g = Gemm<transB = 1>(f, w, b)
           y = Reshape(g, shape)""",
        {"w": (12, 24), "b": (12,), "shape": [1, 3, 2, 2]},
    ),
    "matmul": (
        (1, 2, 4, 5),
        """t = Transpose<perm = [0, 1, 3, 2]>(x)
           y = MatMul(x, t)""",
        {},
    ),
    "pools": (
        (1, 3, 9, 8),
        """m = MaxPool<kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 1, 1]>(x)
           r = Relu(m)
           a = AveragePool<kernel_shape = [2, 2], strides = [1, 1]>(r)
           y = LeakyRelu<alpha = 0.125>(a)""",
        {},
    ),
    "global pool": (
        (1, 3, 4, 5),
        """c = Conv<dilations = [2, 1], strides = [1, 2]>(x, w, b)
           r = Clip(c, low, high)
           y = GlobalAveragePool(r)""",
        {"w": (4, 3, 2, 2), "b": (4,), "low": np.float32(-0.5), "high": np.float32(1)},
    ),
    "maximum": (
        (1, 3, 4, 5),
        """c = Conv(x, w)
           m = ReduceMax<keepdims = 1>(c, columns)
           y = ReduceMax<keepdims = 0>(m, rest)""",
        {"w": (4, 3, 2, 2), "columns": [3], "rest": [1, 2]},
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("strait", "work"):
        parser.add_argument(f"--{option}", type=Path, required=True)
    arguments = parser.parse_args()
    found = list(compared(arguments.strait, arguments.work))
    for good, text in found:
        print(("ok      " if good else "FAILED  ") + text)
    sys.exit(0 if all(good for good, _ in found) else 1)


def compared(strait, work):
    """(whether it is as it should be, what) for each network, and for the ops of all of them."""
    seen = set()
    for name, network in NETWORKS.items():
        try:
            different, ops = compare(strait, work / name.replace(" ", "-"), network)
        except (processes.Failed, ValueError) as failed:
            yield False, f"the package of sima, {name}: {failed}"
            continue
        seen |= ops
        on_host = ops & {"host"}
        text = f"the package of sima, {name}: other integers for {different} of {SAMPLES} samples in numpy"
        yield different == 0 and not on_host, text + (", and it runs on the host" if on_host else "")
    missing = set(sima_package.OPS) - seen
    yield not missing, "ops of the package of sima that no network has: " + (", ".join(sorted(missing)) or "none")


def compare(strait, work, network):
    """How many samples differ, and the ops of the package."""
    shape, nodes, tensors = network
    work.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    onnx.save(model(shape, nodes, tensors, random), work / "model.onnx")
    samples = random.normal(size=(SAMPLES, *shape[1:])).astype(np.float32)
    np.save(work / "x.npy", samples)
    config = work / "deploy.toml"
    config.write_text(CONFIG)
    artifact, raw = work / "artifact", work / "raw.npy"
    processes.check([strait, "compile", config], work / "compile.log")
    command = [strait, "run", artifact, "--raw", "--input", work / "x.npy", "--output", raw]
    processes.check(command, work / "run.log")
    root, arrays, _ = sima_package.load(artifact)
    different = sima_package.differing(root, arrays, samples.transpose(0, 2, 3, 1), np.load(raw))
    return different, {op(node["ir"]) for node in sima_package.nodes(root)}


def op(ir):
    return "host" if "reason" in ir else ir.get("quant", {}).get("op") or ir["op"]


CONFIG = """schema = 1
[model]
file = "model.onnx"
[target]
use = ["sima"]
[calibration]
data = "x.npy"
[output]
dir = "artifact"
emit = ["package"]
"""


def model(shape, nodes, tensors, random):
    inputs = ", ".join(map(str, shape))
    text = f'<ir_version: 8, opset_import: ["": 18]> network (float[{inputs}] x) => (float y) {{ {nodes} }}'
    parsed = onnx.parser.parse_model(text)
    parsed.graph.output[0].type.tensor_type.ClearField("shape")  # to be inferred
    for name, tensor in tensors.items():
        if isinstance(tensor, tuple):
            # Weights whose products are about as large as what they are made from.
            fan_in = np.prod(tensor[1:], dtype=int)
            tensor = random.normal(scale=1 / np.sqrt(fan_in), size=tensor).astype(np.float32)
        parsed.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(tensor), name))
    return onnx.shape_inference.infer_shapes(parsed, strict_mode=True, data_prop=True)


if __name__ == "__main__":
    main()
