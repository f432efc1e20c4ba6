"""Networks of many architectures with random weights, as Q/DQ files."""

import json
from functools import partial

import numpy as np
import onnx
import processes

SAMPLES = 8
CALIBRATED = 16


def cases(maker, zoo):
    """A case for each skeleton: a graph, mean and spread of its weights, and what its inputs are like."""
    inputs = json.loads((zoo / "inputs.json").read_text())
    for skeleton in sorted(zoo.glob("*.skeleton.onnx")):
        name = skeleton.name.removesuffix(".skeleton.onnx")
        yield f"zoo, {name}", partial(case, maker, zoo, skeleton, name, inputs.get(name, {}))


def case(maker, zoo, skeleton, stem, inputs, name):
    work = maker.arguments.work / "zoo" / stem
    work.mkdir(parents=True, exist_ok=True)
    model, random = onnx.load(skeleton), np.random.default_rng(0)
    statistics = json.loads((zoo / f"{stem}.stats.json").read_text())
    for tensor in model.graph.initializer:
        if tensor.name in statistics:
            mean, spread = statistics[tensor.name]
            tensor.raw_data = random.normal(mean, spread, tuple(tensor.dims)).astype("<f4").tobytes()
    onnx.save(model, work / "model.onnx")
    if not inputs:
        raise processes.Failed("nothing is known of its inputs")
    made = {key: drawn(random, how) for key, how in inputs.items()}
    files = {}
    for key, values in made.items():
        files[key] = work / f"{len(files)}.npy"
        np.save(files[key], values[:SAMPLES])
    np.savez(work / "calibration.npz", **made)
    compile = ["--model", work / "model.onnx", "--calibration", work / "calibration.npz", "--target", "generic-int8"]
    compile += ["--set", 'output.emit=["qdq-onnx"]']
    feeds = [{key: values[sample][None] for key, values in made.items()} for sample in range(SAMPLES)]
    return maker.case(compile, files, work / "model.onnx", feeds, False, name)


def drawn(random, how):
    shape = (CALIBRATED, *how["shape"])
    if how["dtype"].startswith("int"):
        return random.integers(how["low"], how["high"], shape).astype(how["dtype"])
    return random.normal(how["mean"], how["std"], shape).astype(how["dtype"])
