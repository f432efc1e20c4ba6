"""Take the quantization of activations out of an ONNX file with QuantizeLinear and DequantizeLinear: its weights stay codes."""

import onnx

DOMAINS = ("", "ai.onnx")


def weights_alone(source, out):
    """Writes the file `source` to `out` without its pairs of QuantizeLinear and DequantizeLinear on computed values."""
    model = onnx.load(source)
    graph = model.graph
    quantized = {node.output[0]: node.input[0] for node in graph.node if is_op(node, "QuantizeLinear")}
    plain = {
        node.output[0]: quantized[node.input[0]]
        for node in graph.node
        if is_op(node, "DequantizeLinear") and node.input[0] in quantized
    }

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


def is_op(node, name):
    return node.op_type == name and node.domain in DOMAINS
