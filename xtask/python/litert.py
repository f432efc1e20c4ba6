"""One-operator models for LiteRT, run by its reference kernels."""

from dataclasses import dataclass
from importlib.metadata import version

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

PROGRAM = f"LiteRT {version('ai-edge-litert')}, BUILTIN_REF"

TYPES = {
    "float16": schema.TensorType.FLOAT16,
    "float32": schema.TensorType.FLOAT32,
    "int8": schema.TensorType.INT8,
    "uint8": schema.TensorType.UINT8,
    "int16": schema.TensorType.INT16,
    "int32": schema.TensorType.INT32,
    "int64": schema.TensorType.INT64,
    "uint32": schema.TensorType.UINT32,
    "bool": schema.TensorType.BOOL,
}
VERSIONS = {"BROADCAST_TO": 2}  # of operators that have no version 1
FOUR_BITS = schema.TensorType.INT4


@dataclass
class Tensor:
    """real = scale * (values - zero); several scales run along `axis`. Of a result only type and shape count."""

    values: np.ndarray
    scale: object = None
    zero: int = 0
    axis: int = 0
    packed: bool = False  # codes of four bits, two in a byte, the first in its low half
    variable: bool = False  # a state, which has no elements in the file


def result(shape, elements, scale=None, zero=0):
    return Tensor(np.zeros(shape, elements), scale, zero)


def options(name, **fields):
    """The options of an operator, `Conv2DOptions` for instance."""
    table = getattr(schema, f"{name}T")()
    for field, value in fields.items():
        if not hasattr(table, field):
            raise AttributeError(f"{name} has no field {field}")
        setattr(table, field, value)
    return table


def stored(tensor):
    """The bytes of a constant."""
    if not tensor.packed:
        return tensor.values
    codes = tensor.values.ravel().astype(np.uint8) & 15
    codes = np.pad(codes, (0, codes.size % 2))
    return codes[::2] | codes[1::2] << 4


def window(name, stride=(1, 1), padding="VALID", **fields):
    """The options of an operator with a window."""
    if name != "Pool2DOptions":
        fields = {"dilationHFactor": 1, "dilationWFactor": 1, **fields}
    return options(name, padding=getattr(schema.Padding, padding), strideH=stride[0], strideW=stride[1], **fields)


def activation(name):
    """The number of a fused activation, `RELU6` for instance."""
    return getattr(schema.ActivationFunctionType, name)


def padding(name):
    return getattr(schema.Padding, name)


def empty():
    """A model of one graph that has nothing yet."""
    graph, model = schema.SubGraphT(), schema.ModelT()
    graph.tensors, graph.operators = [], []
    model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [graph], [schema.BufferT()], []
    return model


def add_constant(model, entry, values):
    """Gives a tensor the bytes of its elements."""
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(values.tobytes(), np.uint8)
    entry.buffer = len(model.buffers)
    model.buffers.append(buffer)


def add_operator(model, operator, operator_options, operands, outputs, version=None):
    """Appends an operator to the graph of a model."""
    code = schema.OperatorCodeT()
    code.builtinCode, code.version = getattr(schema.BuiltinOperator, operator), version or VERSIONS.get(operator, 1)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)  # the field that older files have: one byte
    node = schema.OperatorT()
    node.opcodeIndex, node.inputs, node.outputs = len(model.operatorCodes), operands, outputs
    if operator_options is not None:
        node.builtinOptions = operator_options
        node.builtinOptionsType = getattr(schema.BuiltinOptions, type(operator_options).__name__.removesuffix("T"))
    model.operatorCodes.append(code)
    model.subgraphs[0].operators.append(node)


def file_of(model):
    """The bytes of a model's file."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def written(operator, operator_options, inputs, constants, outputs, order=None, version=None):
    """The file of a model of one operator; its operands are `inputs`, then `constants`, or these in another order, where -1 is
    left out."""
    model = empty()
    graph = model.subgraphs[0]

    def add(tensor, constant=False):
        entry = schema.TensorT()
        entry.name, entry.shape = f"tensor{len(graph.tensors)}", list(tensor.values.shape)
        entry.type, entry.buffer = FOUR_BITS if tensor.packed else TYPES[tensor.values.dtype.name], 0
        entry.isVariable = tensor.variable
        if constant and not tensor.variable:
            add_constant(model, entry, stored(tensor))
        if tensor.scale is not None:
            entry.quantization = quantization = schema.QuantizationParametersT()
            quantization.scale = np.atleast_1d(np.asarray(tensor.scale, np.float32))
            quantization.zeroPoint = np.full(quantization.scale.shape, tensor.zero, np.int64)
            quantization.quantizedDimension = tensor.axis
        graph.tensors.append(entry)
        return len(graph.tensors) - 1

    graph.inputs = [add(tensor) for tensor in inputs]
    operands = graph.inputs + [add(tensor, True) for tensor in constants]
    operands = [at if at < 0 else operands[at] for at in order or range(len(operands))]
    graph.outputs = [add(output) for output in outputs]
    add_operator(model, operator, operator_options, operands, graph.outputs, version)
    return file_of(model)


def computed(file, inputs, resolver=OpResolverType.BUILTIN_REF):
    """The results of a model."""
    interpreter = Interpreter(model_content=file, experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    for detail, tensor in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], tensor.values)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def run(operator, operator_options, inputs, constants, output, order=None):
    """The result of a model of one operator, as `written` takes it."""
    return computed(written(operator, operator_options, inputs, constants, [output], order), inputs)[0]
