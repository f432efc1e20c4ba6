"""MobileNetV2 as a float TFLite file, for AI Edge Quantizer, which takes no other format."""

import numpy as np
import onnx
from ai_edge_litert import schema_py_generated as schema
from litert import TYPES, activation, add_constant, add_operator, empty, file_of, options, window
from onnx import numpy_helper

# The names of its signature and of its input.
SIGNATURE, INPUT = "serving_default", "input"


class File:
    """A float model of one graph, with channels last."""

    def __init__(self):
        self.model = empty()
        self.graph = self.model.subgraphs[0]

    def tensor(self, name, shape, values=None):
        entry = schema.TensorT()
        entry.name, entry.shape, entry.buffer = name, [int(extent) for extent in shape], 0
        entry.type = TYPES["float32" if values is None else values.dtype.name]
        if values is not None:
            add_constant(self.model, entry, values)
        self.graph.tensors.append(entry)
        return len(self.graph.tensors) - 1

    def constant(self, name, values):
        return self.tensor(name, values.shape, values)

    def node(self, operator, inputs, output, operator_options):
        add_operator(self.model, operator, operator_options, inputs, [output], version=1)

    def written(self, inputs, outputs):
        self.graph.inputs, self.graph.outputs = inputs, outputs
        signature = schema.SignatureDefT()
        signature.signatureKey, signature.subgraphIndex = SIGNATURE, 0
        signature.inputs, signature.outputs = ([self.named(at) for at in ends] for ends in (inputs, outputs))
        self.model.signatureDefs = [signature]
        return file_of(self.model)

    def named(self, at):
        entry = schema.TensorMapT()
        entry.name, entry.tensorIndex = self.graph.tensors[at].name, at
        return entry


def converted(model):
    """The float TFLite file of MobileNetV2. Its windows of stride 2 begin one pixel later than those of the ONNX file, whose
    padding TFLite would need an operator for; what is computed takes as long."""
    graph = model.graph
    constants = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    # A Clip to [0, 6] is the activation of the convolution before it.
    clips = {node.input[0]: node.output[0] for node in graph.node if node.op_type == "Clip"}
    file, known, shapes = File(), {}, {}

    def add(name, shape):
        known[name], shapes[name] = file.tensor(name, shape), shape

    channels, height, width = (extent.dim_value for extent in graph.input[0].type.tensor_type.shape.dim[1:])
    add(graph.input[0].name, [1, height, width, channels])
    file.graph.tensors[0].name = INPUT
    for node in graph.node:
        x, out = node.input[0] if node.input else None, node.output[0]
        attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
        if node.op_type == "Conv":
            weights, bias = (constants[name] for name in node.input[1:])
            stride, is_depthwise = attributes["strides"][0], attributes["group"] > 1
            weights = weights.transpose([1, 2, 3, 0] if is_depthwise else [0, 2, 3, 1])
            relu, out = activation("RELU6" if out in clips else "NONE"), clips.get(out, out)
            add(out, [1, *(-(-extent // stride) for extent in shapes[x][1:3]), len(bias)])
            kind, more = ("DepthwiseConv2D", {"depthMultiplier": 1}) if is_depthwise else ("Conv2D", {})
            operator = "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D"
            inputs = [known[x], file.constant(f"{out}_w", weights), file.constant(f"{out}_b", bias)]
            settings = window(f"{kind}Options", (stride, stride), "SAME", fusedActivationFunction=relu, **more)
            file.node(operator, inputs, known[out], settings)
        elif node.op_type == "Add":
            add(out, shapes[x])
            file.node("ADD", [known[name] for name in node.input], known[out], options("AddOptions"))
        elif node.op_type == "GlobalAveragePool":
            add(out, [1, shapes[x][3]])
            axes = file.constant("axes", np.array([1, 2], np.int32))
            file.node("MEAN", [known[x], axes], known[out], options("ReducerOptions", keepDims=False))
        elif node.op_type == "Flatten":
            known[out], shapes[out] = known[x], shapes[x]
        elif node.op_type == "Gemm":
            weights, bias = (constants[name] for name in node.input[1:])
            add(out, [1, len(bias)])
            inputs = [known[x], file.constant("w", weights), file.constant("b", bias)]
            file.node("FULLY_CONNECTED", inputs, known[out], options("FullyConnectedOptions"))
        elif node.op_type not in ("Clip", "Constant"):
            raise ValueError(f"{node.op_type} is no operator of MobileNetV2")
    return file.written([known[graph.input[0].name]], [known[graph.output[0].name]])
