"""Small decoders of language models: one like LLaMA (RMS normalization, rotary embedding, grouped queries, SwiGLU) and one like GPT-2
(layer normalization, learned positions, GELU by tanh). Weights are random, and some channels are large. Each can be written in two
styles: with the standard operators that exporters of PyTorch write, and with the operators of ONNX Runtime that its model builder
writes. Keys and values of past and present are inputs and outputs, those of the past only if there is one. Weights depend on the
seed alone, so models for different steps are the same decoder."""

from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OWN = "com.microsoft"


@dataclass(frozen=True)
class Sizes:
    layers: int = 2
    width: int = 256
    heads: int = 8
    key_heads: int = 4
    inner: int = 512
    words: int = 1000
    longest: int = 64  # positions
    tied: bool = True  # the head of GPT-2 shares the embedding

    @property
    def size(self):
        return self.width // self.heads


class Model:
    """A graph while it is written. Each function returns the name of a result."""

    def __init__(self, seed, sizes):
        self.sizes = sizes
        self.numbers, self.samples = np.random.default_rng(seed), np.random.default_rng(seed + 1000)
        self.nodes, self.constants, self.inputs, self.outputs, self.given = [], [], [], [], {}

    def __call__(self, operator, *inputs, domain="", results=1, **attributes):
        names = [f"{operator}_{len(self.nodes)}_{k}" for k in range(results)]
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, names, name, domain=domain, **attributes))
        return names[0] if results == 1 else names

    def own(self, operator, *inputs, **more):
        return self(operator, *inputs, domain=OWN, **more)

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def ints(self, *values):
        return self.constant(np.int64(values))

    def float(self, value):
        return self.constant(np.float32(value))

    def weights(self, *shape):
        """Weights of a layer. Every 37th of the input channels is ten times as large as the others."""
        values = self.numbers.standard_normal(shape) / np.sqrt(shape[0])
        values[::37] *= 10
        return self.constant(values.astype(np.float32))

    def gain(self, count):
        return self.constant(np.float32(1 + self.numbers.standard_normal(count) / 8))

    def bias(self, count):
        return self.constant(np.float32(self.numbers.standard_normal(count) / 8))

    def input(self, name, value):
        self.inputs.append(name)
        self.given[name] = value
        return name

    def output(self, value, name):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(name)

    def linear(self, x, *shape):
        return self("MatMul", x, self.weights(*shape))

    def finish(self):
        """The model, its inputs by name, and the results of ONNX Runtime, which also give the types of the outputs."""
        ports = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in self.given.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "decoder", ports, outputs, self.constants)
        imports = [helper.make_opsetid("", 18), helper.make_opsetid(OWN, 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = session.run(None, self.given)
        for value, info in zip(found, model.graph.output, strict=True):
            info.CopyFrom(helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        return model, self.given, found


def heads_of(model, x, count, heads):
    """[1, positions, heads · size] becomes [1, heads, positions, size]."""
    split = model("Reshape", x, model.ints(1, count, heads, model.sizes.size))
    return model("Transpose", split, perm=[0, 2, 1, 3])


def attention(model, query, key, value, count, past):
    """Softmax(q·kᵀ/√size + mask)·v with standard operators."""
    turned = model("Transpose", key, perm=[0, 1, 3, 2])
    scores = model("Div", model("MatMul", query, turned), model.float(np.sqrt(model.sizes.size)))
    hidden = np.triu(np.full((1, 1, count, past + count), np.finfo(np.float32).min), past + 1)
    weights = model("Softmax", model("Add", scores, model.float(hidden)), axis=-1)
    heads = model("Transpose", model("MatMul", weights, value), perm=[0, 2, 1, 3])
    return model("Reshape", heads, model.ints(1, count, model.sizes.width))


def past_of(model, layer, heads, past):
    """The keys and values of the past, as inputs; none in the first step."""
    of = lambda: np.float32(model.samples.standard_normal((1, heads, past, model.sizes.size)))
    values = [of(), of()] if past else []
    return [model.input(f"past_key_values.{layer}.{kind}", value) for kind, value in zip(("key", "value"), values)]


def appended(model, old, new):
    return model("Concat", old, new, axis=2) if old else new


def present(model, layer, key, value):
    model.output(key, f"present.{layer}.key")
    model.output(value, f"present.{layer}.value")


def llama(seed, count, past, own=False, sizes=Sizes()):
    model = Model(seed, sizes)
    words = model.input("input_ids", model.samples.integers(0, sizes.words, (1, count)))
    frequencies = 1 / 10000.0 ** (np.arange(0, sizes.size, 2) / sizes.size)
    if own:
        mask = model.input("attention_mask", np.ones((1, past + count), np.int64))
        last = model("Sub", model("ReduceSum", mask, model.ints(1), keepdims=0), model.ints(1))
        last = model("Cast", last, to=onnx.TensorProto.INT32)
        total = model("Gather", model("Shape", mask), model.constant(np.int64(1)), axis=0)
        total = model("Cast", total, to=onnx.TensorProto.INT32)
        angles = np.arange(sizes.longest)[:, None] * frequencies
        tables = [model.float(np.cos(angles)), model.float(np.sin(angles))]
    else:
        at = model.input("position_ids", np.arange(past, past + count)[None])
        at = model("Cast", model("Unsqueeze", at, model.ints(2)), to=onnx.TensorProto.FLOAT)
        angles = model("MatMul", at, model.float(frequencies[None, None]))
        angles = model("Unsqueeze", model("Concat", angles, angles, axis=-1), model.ints(1))
        tables = [model("Cos", angles), model("Sin", angles)]

    def normal(x):
        square = model("ReduceMean", model("Pow", x, model.float(2)), model.ints(-1))
        root = model("Sqrt", model("Add", square, model.float(1e-5)))
        return model("Mul", model.gain(sizes.width), model("Mul", x, model("Div", model.float(1), root)))

    def turned(x):
        lower = model("Slice", x, model.ints(0), model.ints(sizes.size // 2), model.ints(3))
        upper = model("Slice", x, model.ints(sizes.size // 2), model.ints(sizes.size), model.ints(3))
        other = model("Concat", model("Neg", upper), lower, axis=-1)
        return model("Add", model("Mul", x, tables[0]), model("Mul", other, tables[1]))

    def repeated(x):
        x = model("Unsqueeze", x, model.ints(2))
        x = model("Expand", x, model.ints(1, sizes.key_heads, sizes.heads // sizes.key_heads, past + count, sizes.size))
        return model("Reshape", x, model.ints(1, sizes.heads, past + count, sizes.size))

    sum_, branch = model("Gather", model.weights(sizes.words, sizes.width), words), None

    def skip():
        """The sum of the branch and what bypassed it, and its normalization."""
        if own and branch is not None:
            results = model.own("SkipSimplifiedLayerNormalization", sum_, branch, model.gain(sizes.width), results=4, epsilon=1e-5)
            model.nodes[-1].output[1:3] = ["", ""]
            return results[3], results[0]
        whole = sum_ if branch is None else model("Add", sum_, branch)
        if own:
            return whole, model("SimplifiedLayerNormalization", whole, model.gain(sizes.width), epsilon=1e-5, axis=-1)
        return whole, normal(whole)

    for layer in range(sizes.layers):
        sum_, x = skip()
        narrow = sizes.key_heads * sizes.size
        query, key, value = (model.linear(x, sizes.width, width) for width in (sizes.width, narrow, narrow))
        old = past_of(model, layer, sizes.key_heads, past) or ["", ""]
        if own:
            numbers = {"num_heads": sizes.heads, "kv_num_heads": sizes.key_heads, "do_rotary": 1, "rotary_interleaved": 0}
            numbers["scale"] = float(1 / np.sqrt(sizes.size))
            x, key, value = model.own("GroupQueryAttention", query, key, value, *old, last, total, *tables, results=3, **numbers)
        else:
            query, key = turned(heads_of(model, query, count, sizes.heads)), turned(heads_of(model, key, count, sizes.key_heads))
            key, value = appended(model, old[0], key), appended(model, old[1], heads_of(model, value, count, sizes.key_heads))
            x = attention(model, query, repeated(key), repeated(value), count, past)
        present(model, layer, key, value)
        branch = model.linear(x, sizes.width, sizes.width)
        sum_, x = skip()
        gate, up = model.linear(x, sizes.width, sizes.inner), model.linear(x, sizes.width, sizes.inner)
        gate = model("Mul", gate, model("Sigmoid", gate))
        branch = model.linear(model("Mul", gate, up), sizes.inner, sizes.width)
    _, x = skip()
    model.output(model.linear(x, sizes.width, sizes.words), "logits")
    return model.finish()


def gpt2(seed, count, past, own=False, sizes=Sizes()):
    model = Model(seed, sizes)
    words = model.input("input_ids", model.samples.integers(0, sizes.words, (1, count)))
    at = model.input("position_ids", np.arange(past, past + count)[None])
    table = model.weights(sizes.words, sizes.width)
    sum_ = model("Add", model("Gather", table, words), model("Gather", model.weights(sizes.longest, sizes.width), at))
    branch = None

    def skip():
        given = [model.gain(sizes.width), model.bias(sizes.width)]
        if own and branch is not None:
            results = model.own("SkipLayerNormalization", sum_, branch, *given, results=4, epsilon=1e-5)
            model.nodes[-1].output[1:3] = ["", ""]
            return results[3], results[0]
        whole = sum_ if branch is None else model("Add", sum_, branch)
        return whole, model("LayerNormalization", whole, *given, axis=-1, epsilon=1e-5)

    def gelu(x):
        cube = model("Mul", model("Pow", x, model.float(3)), model.float(0.044715))
        inner = model("Mul", model("Add", x, cube), model.float(np.sqrt(2 / np.pi)))
        return model("Mul", model("Mul", x, model.float(0.5)), model("Add", model("Tanh", inner), model.float(1)))

    for layer in range(sizes.layers):
        sum_, x = skip()
        old = past_of(model, layer, sizes.heads, past)
        bias = model.bias(3 * sizes.width)
        x = model.linear(x, sizes.width, 3 * sizes.width)
        if not own:
            x = model("Add", x, bias)
        query, key, value = model("Split", x, model.ints(sizes.width, sizes.width, sizes.width), axis=2, results=3)
        if own:
            x, key, value = model.own(
                "MultiHeadAttention", query, key, value, bias, "", "", *old, results=3, num_heads=sizes.heads, unidirectional=1
            )
        else:
            query, key, value = (heads_of(model, x, count, sizes.heads) for x in (query, key, value))
            key, value = (appended(model, past_one, new) for past_one, new in zip(old or ["", ""], (key, value)))
            x = attention(model, query, key, value, count, past)
        present(model, layer, key, value)
        branch = model("Add", model.linear(x, sizes.width, sizes.width), model.bias(sizes.width))
        sum_, x = skip()
        x, bias = model.linear(x, sizes.width, sizes.inner), model.bias(sizes.inner)
        x = model.own("FastGelu", x, bias) if own else gelu(model("Add", x, bias))
        branch = model("Add", model.linear(x, sizes.inner, sizes.width), model.bias(sizes.width))
    _, x = skip()
    head = model("Transpose", table, perm=[1, 0]) if sizes.tied else model.weights(sizes.width, sizes.words)
    model.output(model("MatMul", x, head), "logits")
    return model.finish()


DECODERS = {"llama": llama, "gpt2": gpt2}
