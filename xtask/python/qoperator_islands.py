"""What ONNX Runtime rounds behind the float operators of an ONNX file of quantized operators.

An island is a QuantizeLinear with the float operators in front of it, back to codes. It gets our codes of sample 0, and floats where it
reads an input of the model. Sums in another order and functions that differ in the last place may move a value over a border between
two codes, so codes may be off by one; more would be another function.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper

MOST = 1  # codes
CODES = {TensorProto.UINT8: np.uint8, TensorProto.INT8: np.int8}


def behind(model, node, makers, is_known):
    """The operators that make the operand of `node`, back to known codes and the inputs of the model; `node` is the first of them."""
    group, at = [node], 0
    while at < len(group):
        for name in group[at].input:
            if name in makers and not is_known(name) and makers[name] not in group:
                group.append(makers[name])
        at += 1
    return group


def islands(model, ours, zeros):
    """A model of all islands, what it is fed, what it has to give, and the float operators in front of each result. `ours` has our
    codes less the zero points, which are in `zeros`."""
    types = {info.name: info.type.tensor_type.elem_type for info in model.graph.value_info}
    makers = {name: node for node in model.graph.node for name in node.output}
    constants = {tensor.name for tensor in model.graph.initializer}
    given = {info.name: info for info in model.graph.input if info.name not in constants}

    def is_known(name):
        return types.get(name) in CODES and name in ours

    kept, feeds, expected, kinds = set(), {}, {}, {}
    for node in model.graph.node:
        (*_, result) = node.output
        # What is rounded of an input as it is has no counterpart in the artifact.
        if node.op_type != "QuantizeLinear" or node.input[0] in given or not is_known(result):
            continue
        group = behind(model, node, makers, is_known)
        kept |= {name for member in group for name in member.output}
        expected[result] = ours[result] + zeros[result]
        kinds[result] = sorted({member.op_type for member in group} - {"QuantizeLinear", "DequantizeLinear", "Identity"})
        for name in (name for member in group for name in member.input if is_known(name)):
            feeds[name] = (ours[name] + zeros[name]).astype(CODES[types[name]])
    nodes = []
    for node in model.graph.node:
        if kept & set(node.output):
            nodes.append(onnx.NodeProto())
            nodes[-1].CopyFrom(node)
            nodes[-1].input[:] = [f"{name}__fed" if name in feeds else name for name in node.input]
    read = {name for node in nodes for name in node.input}
    inputs = [helper.make_tensor_value_info(f"{name}__fed", types[name], codes.shape) for name, codes in feeds.items()]
    inputs += [info for name, info in given.items() if name in read]
    outputs = [helper.make_tensor_value_info(name, types[name], codes.shape) for name, codes in expected.items()]
    graph = helper.make_graph(nodes, "islands", inputs, outputs, [each for each in model.graph.initializer if each.name in read])
    made = helper.make_model(graph, opset_imports=model.opset_import)
    made.ir_version = 10
    return made, {f"{name}__fed": codes for name, codes in feeds.items()}, [name for name in given if name in read], expected, kinds


def rounded(model, ours, zeros, feed, session):
    """Compares the codes behind all islands, without optimizations and at default settings. Returns the number of codes, and for each
    tensor with other codes its name, how many differ, how many there are, by how much at most, what is in front of it, and whether the
    session was optimized. `session` makes a session of a model."""
    made, feeds, given, expected, kinds = islands(model, ours, zeros)
    count, found = 0, []
    if not expected:
        return count, found
    feeds |= {name: feed[name] for name in given}
    for optimized in (False, True):
        results = session(made.SerializeToString(), optimized).run(list(expected), feeds)
        for name, codes in zip(expected, results, strict=True):
            off = np.abs(codes.astype(np.int32) - expected[name])
            count += 0 if optimized else off.size
            if off.any():
                found.append((name, int((off > 0).sum()), off.size, int(off.max()), kinds[name], optimized))
    return count, found
