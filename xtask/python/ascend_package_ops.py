#!/usr/bin/env python3
"""Small networks of the layers that the models at hand do not have, for the files of the target `ascend`:
ascend_package_ops.py --strait BINARY --work FOLDER

Each is compiled; `ascend_package.py` computes its deploy model with numpy, which must give the integers of `strait run --raw`, and
holds its fake-quantized model against that.
"""

import argparse
import sys
from pathlib import Path

import ascend_fake_quant
import ascend_package
import numpy as np
import onnx
import processes
from sima_package_ops import model

SAMPLES = 16

# Networks from x to y as those for sima, and the layers that must compute on codes. Behind a pool stands a layer of sums, which are
# integers in the last one: a mean is real.
NETWORKS = {
    "average pool": (
        (1, 4, 9, 8),
        """c = Conv<pads = [1, 1, 1, 1]>(x, w, b)
           r = Relu(c)
           a = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(r)
           y = Conv(a, v)""",
        {"w": (5, 4, 3, 3), "b": (5,), "v": (3, 5, 2, 2)},
        ["AveragePool", "Conv", "Conv"],
    ),
    "average pool with padding": (
        (1, 4, 8, 7),
        """a = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(x)
           y = Conv(a, v)""",
        {"v": (3, 4, 2, 2)},
        ["AveragePool", "Conv"],
    ),
    "average pool of unequal windows": (
        (1, 4, 8, 7),
        """a = AveragePool<kernel_shape = [3, 2], pads = [1, 1, 1, 0], strides = [2, 1]>(x)
           y = Conv(a, v)""",
        {"v": (3, 4, 2, 2)},
        ["Conv"],
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
    """(whether it is as it should be, what) for each network."""
    for name, network in NETWORKS.items():
        try:
            yield from compare(strait, work / name.replace(" ", "-"), name, network)
        except (processes.Failed, ValueError) as failed:
            yield False, f"ascend: {name}: {failed}"


def compare(strait, work, name, network):
    shape, nodes, tensors, on_codes = network
    work.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    onnx.save(model(shape, nodes, tensors, random), work / "model.onnx")
    samples = random.normal(size=(SAMPLES, *shape[1:])).astype(np.float32)
    np.save(work / "x.npy", samples)
    config, artifact, raw = work / "deploy.toml", work / "artifact", work / "raw.npy"
    config.write_text(CONFIG)
    processes.check([strait, "compile", config], work / "compile.log")
    command = [strait, "run", artifact, "--raw", "--input", work / "x.npy", "--output", raw]
    processes.check(command, work / "run.log")
    inputs = list(samples[:, None])
    count, most = ascend_package.differing(artifact, inputs, np.load(raw))
    yield count == 0, f"ascend: the deploy model of {name} in numpy: other integers for {count} of {SAMPLES} samples, by {most} at most"
    graph = onnx.load(ascend_package.only(artifact, "_deploy_model.onnx")).graph
    quantized = {output for node in graph.node if node.op_type == "AscendQuant" for output in node.output}
    found = sorted(node.op_type for node in graph.node if quantized & set(node.input) and not node.op_type.startswith("Ascend"))
    yield found == on_codes, f"ascend: on codes in {name}: {', '.join(found)}"
    total = ascend_fake_quant.total(ascend_package.fake_against_deploy(artifact, inputs))
    yield total.is_within(), f"ascend: the fake-quantized model of {name} in ONNX Runtime: {total}"


CONFIG = """schema = 1
[model]
file = "model.onnx"
[target]
use = ["ascend"]
[calibration]
data = "x.npy"
[fusion]
accept = "exact"
[output]
dir = "artifact"
"""


if __name__ == "__main__":
    main()
