#!/usr/bin/env python3
"""Run the models that the target `ascend` writes:  ascend_package.py ARTIFACT INPUTS RAW

INPUTS is what `strait samples` wrote: the samples as the network takes them. RAW is what `strait run --raw` wrote for them, where the
model ends with a layer that computes on codes: its sums. The deploy model, computed with numpy, must give these sums. Each layer of
the fake-quantized model runs in ONNX Runtime on the values that it has there, and is held against it (`ascend_fake_quant.py`).
"""

import argparse
import sys
from pathlib import Path

import ascend_fake_quant
import numpy as np
from ascend_deploy import Deploy


def only(artifact, ending):
    (path,) = sorted(artifact.glob(f"*{ending}"))
    return path


def differing(artifact, inputs, raw):
    """How many samples have other sums than `raw` in the layer that makes the output, and how far apart they are."""
    if raw.dtype.kind != "i":
        raise ValueError(f"the model does not end with a layer that computes on codes: its output is of {raw.dtype}")
    deploy = Deploy(only(artifact, "_deploy_model.onnx"))
    producers = {name: node for node in deploy.graph.node for name in node.output}
    node = producers[deploy.graph.output[0].name]
    while node.op_type != "AscendDequant":
        node = producers[node.input[0]]
    count, most = 0, 0
    for sample, expected in zip(inputs, raw, strict=True):
        found = deploy.run({deploy.graph.input[0].name: sample})[node.input[0]].astype(np.int64).reshape(expected.shape)
        count += not np.array_equal(found, expected)
        most = max(most, int(np.abs(found - expected).max()))
    return count, most


def fake_against_deploy(artifact, inputs):
    """See `ascend_fake_quant.compared`."""
    models = [only(artifact, f"_{kind}_model.onnx") for kind in ("fake_quant", "deploy")]
    return ascend_fake_quant.compared(*models, inputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("raw", type=Path)
    parser.add_argument("--samples", type=int, help="the first ones only")
    arguments = parser.parse_args()
    inputs, raw = np.load(arguments.inputs)[: arguments.samples], np.load(arguments.raw)[: arguments.samples]
    inputs = [sample[None] for sample in inputs]
    count, most = differing(arguments.artifact, inputs, raw)
    print(f"deploy model: {count} of {len(raw)} samples differ, by {most} at most")
    report = fake_against_deploy(arguments.artifact, inputs)
    for layer, found in report.items():
        print(f"{layer}: {found}")
    total = ascend_fake_quant.total(report)
    print(f"{len(report)} layers: {total}")
    sys.exit(0 if count == 0 and total.is_within() else 1)


if __name__ == "__main__":
    main()
