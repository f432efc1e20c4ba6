#!/usr/bin/env python3
"""Write small decoders with what ONNX Runtime computes of them. Started by `cargo xtask oracles`.

A decoder like LLaMA (RMS normalization, rotary embedding, grouped queries, SwiGLU) and one like GPT-2 (layer normalization,
learned positions, GELU by tanh, a head that shares the embedding), with random weights of which some channels are large. Each is
written in two styles: with the standard operators that exporters of PyTorch write, and with the operators of ONNX Runtime that its
model builder writes. Each is written for two steps: the first, without a past, and one that adds one token to a past.
"""

import argparse
from pathlib import Path

import cases
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OWN = "com.microsoft"
LAYERS, WIDTH, HEADS, KEY_HEADS, INNER, WORDS, LONGEST = 2, 256, 8, 4, 512, 1000, 64
SIZE = WIDTH // HEADS
TOLERANCES = (1e-5, 5e-5)  # logits reach 15, and sums in another order differ


class Model:
    """A graph while it is written. Each function returns the name of a result."""

    def __init__(self, seed):
        self.numbers = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.outputs, self.given = [], [], [], [], {}

    def __call__(self, operator, *inputs, domain="", results=1, **attributes):
        names = [f"{operator}_{len(self.nodes)}_{k}" for k in range(results)]
        self.nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
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
        """The model, its inputs, and the results of ONNX Runtime, which also give the types of the outputs."""
        ports = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in self.given.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "decoder", ports, outputs, self.constants)
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(OWN, 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = session.run(None, self.given)
        for value, info in zip(found, model.graph.output, strict=True):
            info.CopyFrom(helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        return model, list(self.given.values()), found


def heads_of(model, x, count, heads):
    """[1, positions, heads · size] becomes [1, heads, positions, size]."""
    split = model("Reshape", x, model.ints(1, count, heads, SIZE))
    return model("Transpose", split, perm=[0, 2, 1, 3])


def attention(model, query, key, value, count, past):
    """Softmax(q·kᵀ/√size + mask)·v with standard operators."""
    turned = model("Transpose", key, perm=[0, 1, 3, 2])
    scores = model("Div", model("MatMul", query, turned), model.float(np.sqrt(SIZE)))
    hidden = np.triu(np.full((1, 1, count, past + count), np.finfo(np.float32).min), past + 1)
    weights = model("Softmax", model("Add", scores, model.float(hidden)), axis=-1)
    heads = model("Transpose", model("MatMul", weights, value), perm=[0, 2, 1, 3])
    return model("Reshape", heads, model.ints(1, count, WIDTH))


def past_of(model, layer, heads, past):
    """The keys and values of the past, as inputs; none in the first step."""
    of = lambda: np.float32(model.numbers.standard_normal((1, heads, past, SIZE)))
    values = [of(), of()] if past else []
    return [model.input(f"past_key_values.{layer}.{kind}", value) for kind, value in zip(("key", "value"), values)]


def appended(model, old, new):
    return model("Concat", old, new, axis=2) if old else new


def present(model, layer, key, value):
    model.output(key, f"present.{layer}.key")
    model.output(value, f"present.{layer}.value")


def llama(seed, count, past, own):
    model = Model(seed)
    words = model.input("input_ids", model.numbers.integers(0, WORDS, (1, count)))
    frequencies = 1 / 10000.0 ** (np.arange(0, SIZE, 2) / SIZE)
    if own:
        mask = model.input("attention_mask", np.ones((1, past + count), np.int64))
        last = model("Sub", model("ReduceSum", mask, model.ints(1), keepdims=0), model.ints(1))
        last = model("Cast", last, to=onnx.TensorProto.INT32)
        total = model("Gather", model("Shape", mask), model.constant(np.int64(1)), axis=0)
        total = model("Cast", total, to=onnx.TensorProto.INT32)
        angles = np.arange(LONGEST)[:, None] * frequencies
        tables = [model.float(np.cos(angles)), model.float(np.sin(angles))]
    else:
        at = model.input("position_ids", np.arange(past, past + count)[None])
        at = model("Cast", model("Unsqueeze", at, model.ints(2)), to=onnx.TensorProto.FLOAT)
        angles = model("MatMul", at, model.float(frequencies[None, None]))
        angles = model("Unsqueeze", model("Concat", angles, angles, axis=-1), model.ints(1))
        tables = [model("Cos", angles), model("Sin", angles)]

    def normal(x):
        square = model("ReduceMean", model("Pow", x, model.float(2)), axes=[-1])
        root = model("Sqrt", model("Add", square, model.float(1e-5)))
        return model("Mul", model.gain(WIDTH), model("Mul", x, model("Div", model.float(1), root)))

    def turned(x):
        lower = model("Slice", x, model.ints(0), model.ints(SIZE // 2), model.ints(3))
        upper = model("Slice", x, model.ints(SIZE // 2), model.ints(SIZE), model.ints(3))
        other = model("Concat", model("Neg", upper), lower, axis=-1)
        return model("Add", model("Mul", x, tables[0]), model("Mul", other, tables[1]))

    def repeated(x):
        x = model("Unsqueeze", x, model.ints(2))
        x = model("Expand", x, model.ints(1, KEY_HEADS, HEADS // KEY_HEADS, past + count, SIZE))
        return model("Reshape", x, model.ints(1, HEADS, past + count, SIZE))

    sum_, branch = model("Gather", model.weights(WORDS, WIDTH), words), None

    def skip():
        """The sum of the branch and what bypassed it, and its normalization."""
        if own and branch is not None:
            results = model.own("SkipSimplifiedLayerNormalization", sum_, branch, model.gain(WIDTH), results=4, epsilon=1e-5)
            model.nodes[-1].output[1:3] = ["", ""]
            return results[3], results[0]
        whole = sum_ if branch is None else model("Add", sum_, branch)
        if own:
            return whole, model("SimplifiedLayerNormalization", whole, model.gain(WIDTH), epsilon=1e-5, axis=-1)
        return whole, normal(whole)

    for layer in range(LAYERS):
        sum_, x = skip()
        narrow = KEY_HEADS * SIZE
        query, key, value = (model.linear(x, WIDTH, width) for width in (WIDTH, narrow, narrow))
        old = past_of(model, layer, KEY_HEADS, past) or ["", ""]
        if own:
            numbers = {"num_heads": HEADS, "kv_num_heads": KEY_HEADS, "do_rotary": 1, "rotary_interleaved": 0}
            numbers["scale"] = float(1 / np.sqrt(SIZE))
            x, key, value = model.own("GroupQueryAttention", query, key, value, *old, last, total, *tables, results=3, **numbers)
        else:
            query, key = turned(heads_of(model, query, count, HEADS)), turned(heads_of(model, key, count, KEY_HEADS))
            key, value = appended(model, old[0], key), appended(model, old[1], heads_of(model, value, count, KEY_HEADS))
            x = attention(model, query, repeated(key), repeated(value), count, past)
        present(model, layer, key, value)
        branch = model.linear(x, WIDTH, WIDTH)
        sum_, x = skip()
        gate, up = model.linear(x, WIDTH, INNER), model.linear(x, WIDTH, INNER)
        gate = model("Mul", gate, model("Sigmoid", gate))
        branch = model.linear(model("Mul", gate, up), INNER, WIDTH)
    _, x = skip()
    model.output(model.linear(x, WIDTH, WORDS), "logits")
    return model.finish()


def gpt2(seed, count, past, own):
    model = Model(seed)
    words = model.input("input_ids", model.numbers.integers(0, WORDS, (1, count)))
    at = model.input("position_ids", np.arange(past, past + count)[None])
    table = model.weights(WORDS, WIDTH)
    sum_ = model("Add", model("Gather", table, words), model("Gather", model.weights(LONGEST, WIDTH), at))
    branch = None

    def skip():
        given = [model.gain(WIDTH), model.bias(WIDTH)]
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

    for layer in range(LAYERS):
        sum_, x = skip()
        old = past_of(model, layer, HEADS, past)
        bias = model.bias(3 * WIDTH)
        x = model.linear(x, WIDTH, 3 * WIDTH)
        if not own:
            x = model("Add", x, bias)
        query, key, value = model("Split", x, model.ints(WIDTH, WIDTH, WIDTH), axis=2, results=3)
        if own:
            x, key, value = model.own(
                "MultiHeadAttention", query, key, value, bias, "", "", *old, results=3, num_heads=HEADS, unidirectional=1
            )
        else:
            query, key, value = (heads_of(model, x, count, HEADS) for x in (query, key, value))
            key, value = (appended(model, past_one, new) for past_one, new in zip(old or ["", ""], (key, value)))
            x = attention(model, query, key, value, count, past)
        present(model, layer, key, value)
        branch = model("Add", model.linear(x, WIDTH, WIDTH), model.bias(WIDTH))
        sum_, x = skip()
        x, bias = model.linear(x, WIDTH, INNER), model.bias(INNER)
        x = model.own("FastGelu", x, bias) if own else gelu(model("Add", x, bias))
        branch = model("Add", model.linear(x, INNER, WIDTH), model.bias(WIDTH))
    _, x = skip()
    model.output(model("MatMul", x, model("Transpose", table, perm=[1, 0])), "logits")
    return model.finish()


def write(folder):
    for seed, decoder in enumerate((llama, gpt2)):
        for style, own in (("standard", False), ("runtime", True)):
            for step, count, past in (("prefill", 16, 0), ("decode", 1, 16)):
                model, given, found = decoder(seed, count, past, own)
                given, found = ([numpy_helper.from_array(value) for value in values] for values in (given, found))
                folder.add(f"{decoder.__name__}_{style}_{step}", model, TOLERANCES, None, given, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    with cases.folder(parser.parse_args().folder, __file__, onnx, onnxruntime) as folder:
        if folder:
            write(folder)


if __name__ == "__main__":
    main()
