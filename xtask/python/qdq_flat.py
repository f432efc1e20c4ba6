"""A Q/DQ file of a softmax whose results are all near 1 / n, so that their grid is finer than ONNX Runtime's QLinearSoftmax computes.

Of a file without the Concat that `crates/onnx/src/write/apart.rs` puts in front of the QuantizeLinear, ONNX Runtime at its default
settings computes zeros. This, too, is tested: if the case cannot find the fault, it finds nothing.
"""

from functools import partial

import numpy as np
import onnx
import onnxruntime
import processes
import qdq
from onnx import TensorProto, helper, numpy_helper

TARGETS = ["onnxruntime"]  # others write softmaxes of 16 bits, or in float
CALIBRATED = 8
ROWS, TERMS, WIDTH = 4, 512, 16
SPREAD = 0.005  # of the weights of the layer before the softmax


def cases(maker):
    for target in TARGETS:
        yield f"flat softmax, {target}", partial(case, maker, target)


def case(maker, target, name):
    work = maker.arguments.work / "flat" / target
    work.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    onnx.save(model(random), work / "model.onnx")
    samples = random.normal(0, 1, (CALIBRATED, ROWS, WIDTH)).astype(np.float32)
    np.save(work / "x.npy", samples)
    compile = ["--model", work / "model.onnx", "--calibration", work / "x.npy", "--target", target, "--set", 'output.emit=["qdq-onnx"]']
    feeds = [{"x": sample[None]} for sample in samples]
    made = maker.case(compile, {"x": work / "x.npy"}, work / "model.onnx", feeds, False, name)
    demand_the_concat(made)
    return made


def model(random):
    """A softmax between two layers."""
    weights = {"before": random.normal(0, SPREAD, (WIDTH, TERMS)), "behind": random.normal(0, 1, (TERMS, WIDTH))}
    nodes = [
        helper.make_node("MatMul", ["x", "before"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "behind"], ["y"]),
    ]
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, ROWS, WIDTH])] for name in "xy"]
    constants = [numpy_helper.from_array(values.astype(np.float32), name) for name, values in weights.items()]
    graph = helper.make_graph(nodes, "flat", *ports, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def demand_the_concat(made):
    """Fails if the file has no Concat of one operand, or if ONNX Runtime is right without it."""
    file = onnx.load(made.artifact / "model.qdq.onnx")
    alone = [node for node in file.graph.node if node.op_type == "Concat" and len(node.input) == 1]
    if not alone:
        raise processes.Failed("no Concat is in front of a QuantizeLinear")
    for concat in alone:
        for node in file.graph.node:
            node.input[:] = [concat.input[0] if name == concat.output[0] else name for name in node.input]
        file.graph.node.remove(concat)
    runtime = qdq.session(file.SerializeToString(), onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
    found = qdq.decibel(made.ours, [runtime.run(None, feed) for feed in made.feeds])
    if found is not None and found > qdq.MARKS["onnxruntime"].bound:
        raise processes.Failed(f"ONNX Runtime is right without the Concat, too ({found:.1f} dB): it is needed no more")
