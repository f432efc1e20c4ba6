"""Take the quantization of activations out of an ONNX file with QuantizeLinear and DequantizeLinear: its weights stay codes."""

import numpy as np
import onnx

DOMAINS = ("", "ai.onnx")


def weight_only(source, out):
    """Writes the file `source` to `out` without its pairs of QuantizeLinear and DequantizeLinear on computed values, and without
    a Clip at the ends of their codes behind them."""
    model = onnx.load(source)
    graph = model.graph
    quantized = {node.output[0]: node.input[0] for node in graph.node if is_op(node, "QuantizeLinear")}
    plain = {
        node.output[0]: quantized[node.input[0]]
        for node in graph.node
        if is_op(node, "DequantizeLinear") and node.input[0] in quantized
    }

    constants = {tensor.name: tensor for tensor in graph.initializer}
    pairs = {node.output[0]: node for node in graph.node if node.output[0] in plain}
    for node in graph.node:
        pair = pairs.get(node.input[0]) if is_op(node, "Clip") else None
        if pair and ends(pair.input[1:], constants) == [array(constants, name) for name in node.input[1:]]:
            plain[node.output[0]] = node.input[0]

    def real(name):
        # A value that several grids round in turn stands behind several pairs.
        while name in plain:
            name = plain[name]
        return name

    kept = [node for node in graph.node if not (node.output[0] in quantized or node.output[0] in plain)]
    for node in kept:
        node.input[:] = [real(name) for name in node.input]
    del graph.node[:]
    graph.node.extend(kept)
    # An output of the graph keeps its name.
    for output in graph.output:
        if output.name in plain:
            graph.node.append(onnx.helper.make_node("Identity", [real(output.name)], [output.name]))
    onnx.save(model, out)


def array(constants, name):
    return onnx.numpy_helper.to_array(constants[name]) if name in constants else None


def ends(grid, constants):
    """The numbers of the least and the greatest code of a grid for a whole tensor."""
    scale, zero = (array(constants, name) for name in grid)
    if zero.ndim:
        return None
    codes = np.iinfo(zero.dtype)
    return [np.float32(code - int(zero)) * scale for code in (codes.min, codes.max)]


def is_op(node, name):
    return node.op_type == name and node.domain in DOMAINS
