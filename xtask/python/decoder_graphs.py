"""Small decoders of language models as plain ONNX operators, as exporters write them: one like LLaMA (RMS normalization, rotary
positions, grouped queries, SwiGLU) and one like GPT-2 (layer normalization, learned positions, GELU). Weights are random, with a
few channels of outliers. Keys and values of the past are inputs, and those of past and present are outputs."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HIDDEN, LAYERS, WORDS, HEADS, WIDTH = 512, 4, 4000, 8, 64
LONGEST = 256  # positions


class Graph:
    def __init__(self):
        self.nodes, self.constants, self.count = [], {}, 0

    def constant(self, name, array):
        self.constants.setdefault(name, array)
        return name

    def ints(self, *numbers):
        return self.constant("ints_" + "_".join(map(str, numbers)), np.array(numbers, np.int64))

    def float(self, number):
        return self.constant(f"float_{number}", np.float32(number))

    def op(self, op, *inputs, name=None, **attributes):
        self.count += 1
        name = name or f"{op.lower()}_{self.count}"
        outputs = [f"{name}_out"]
        self.nodes.append(helper.make_node(op, list(inputs), outputs, name=name, **attributes))
        return outputs[0]

    def shaped(self, x, *shape):
        return self.op("Reshape", x, self.ints(*shape))


def weights(random, inputs, outputs):
    """A matrix [inputs, outputs] in which one input of a hundred has weights eight times as large."""
    matrix = random.normal(size=(inputs, outputs)) / np.sqrt(inputs)
    matrix[random.random(inputs) < 0.01] *= 8
    return matrix.astype(np.float32)


def decoder(kind, new, past):
    """A model for `new` tokens after `past` ones; without a past, it has no inputs for it."""
    graph, random = Graph(), np.random.default_rng(7)
    llama = kind == "llama"
    key_heads = 2 if llama else HEADS
    table = graph.constant("embedding", weights(random, HIDDEN, WORDS).T * 5)
    x = graph.op("Gather", table, "input_ids", name="embed")
    if llama:
        angles = np.outer(np.arange(LONGEST), 10000.0 ** (-np.arange(0, WIDTH, 2) / WIDTH))
        angles = np.concatenate([angles, angles], 1)[None, None, past : past + new].astype(np.float32)
        turns = [graph.constant(name, of(angles)) for name, of in (("cos", np.cos), ("sin", np.sin))]
    else:
        places = graph.constant("places", weights(random, HIDDEN, LONGEST).T)
        ids = graph.constant("position_ids", np.arange(past, past + new, dtype=np.int64)[None])
        x = graph.op("Add", x, graph.op("Gather", places, ids, name="embed_places"))

    def normalized(x, name):
        gain = graph.constant(f"{name}_gain", (1 + random.normal(size=HIDDEN) / 10).astype(np.float32))
        if not llama:
            bias = graph.constant(f"{name}_bias", (random.normal(size=HIDDEN) / 10).astype(np.float32))
            return graph.op("LayerNormalization", x, gain, bias, axis=-1, epsilon=1e-5, name=name)
        mean = graph.op("ReduceMean", graph.op("Pow", x, graph.float(2.0)), graph.ints(-1), keepdims=1)
        root = graph.op("Sqrt", graph.op("Add", mean, graph.float(1e-6)))
        return graph.op("Mul", gain, graph.op("Mul", x, graph.op("Div", graph.float(1.0), root)))

    def product(x, outputs, inputs, name):
        y = graph.op("MatMul", x, graph.constant(f"{name}_weight", weights(random, inputs, outputs)), name=name)
        if llama:
            return y
        bias = graph.constant(f"{name}_bias", (random.normal(size=outputs) / 10).astype(np.float32))
        return graph.op("Add", y, bias)

    def turned(x):
        halves = graph.ints(0), graph.ints(WIDTH // 2), graph.ints(WIDTH)
        first = graph.op("Slice", x, halves[0], halves[1], graph.ints(3))
        second = graph.op("Slice", x, halves[1], halves[2], graph.ints(3))
        crossed = graph.op("Concat", graph.op("Neg", second), first, axis=-1)
        return graph.op("Add", graph.op("Mul", x, turns[0]), graph.op("Mul", crossed, turns[1]))

    def heads(x, count):
        return graph.op("Transpose", graph.shaped(x, 1, new, count, WIDTH), perm=[0, 2, 1, 3])

    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, new])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, new, WORDS])]
    every = past + new
    later = np.triu(np.full((new, every), np.finfo(np.float32).min, np.float32), past + 1)
    mask = graph.constant("mask", later[None, None])
    for layer in range(LAYERS):
        at = f"layers.{layer}"
        inside = normalized(x, f"{at}.norm")
        query = heads(product(inside, HIDDEN, HIDDEN, f"{at}.q"), HEADS)
        key, value = (heads(product(inside, key_heads * WIDTH, HIDDEN, f"{at}.{n}"), key_heads) for n in "kv")
        if llama:
            query, key = turned(query), turned(key)
        both = []
        for name, part in (("key", key), ("value", value)):
            if past:
                inputs.append(helper.make_tensor_value_info(f"past_{name}.{layer}", TensorProto.FLOAT, [1, key_heads, past, WIDTH]))
                part = graph.op("Concat", f"past_{name}.{layer}", part, axis=2)
            outputs.append(helper.make_tensor_value_info(f"present_{name}.{layer}", TensorProto.FLOAT, [1, key_heads, every, WIDTH]))
            graph.nodes.append(helper.make_node("Identity", [part], [f"present_{name}.{layer}"]))
            if key_heads != HEADS:
                part = graph.shaped(part, 1, key_heads, 1, every, WIDTH)
                part = graph.op("Expand", part, graph.ints(1, key_heads, HEADS // key_heads, every, WIDTH))
                part = graph.shaped(part, 1, HEADS, every, WIDTH)
            both.append(part)
        scores = graph.op("MatMul", query, graph.op("Transpose", both[0], perm=[0, 1, 3, 2]))
        scores = graph.op("Add", graph.op("Mul", scores, graph.float(WIDTH**-0.5)), mask)
        mixed = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), both[1])
        mixed = graph.shaped(graph.op("Transpose", mixed, perm=[0, 2, 1, 3]), 1, new, HIDDEN)
        x = graph.op("Add", x, product(mixed, HIDDEN, HIDDEN, f"{at}.o"))
        inside = normalized(x, f"{at}.norm_2")
        if llama:
            gate = product(inside, 1408, HIDDEN, f"{at}.gate")
            up = product(inside, 1408, HIDDEN, f"{at}.up")
            inside = graph.op("Mul", graph.op("Mul", gate, graph.op("Sigmoid", gate)), up)
            x = graph.op("Add", x, product(inside, HIDDEN, 1408, f"{at}.down"))
        else:
            inside = product(inside, 4 * HIDDEN, HIDDEN, f"{at}.up")
            curve = graph.op("Erf", graph.op("Div", inside, graph.float(2**0.5)))
            inside = graph.op("Mul", graph.op("Mul", inside, graph.op("Add", curve, graph.float(1.0))), graph.float(0.5))
            x = graph.op("Add", x, product(inside, HIDDEN, 4 * HIDDEN, f"{at}.down"))
    x = normalized(x, "norm")
    head = graph.constant("head_weight", weights(random, HIDDEN, WORDS))
    graph.nodes.append(helper.make_node("MatMul", [x, head], ["logits"], name="head"))
    constants = [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in graph.constants.items()]
    made = helper.make_graph(graph.nodes, kind, inputs, outputs, constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def fed(model, seed=3):
    """Inputs for a model: random words, and random keys and values."""
    random = np.random.default_rng(seed)
    arrays = {}
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        is_words = value.type.tensor_type.elem_type == TensorProto.INT64
        arrays[value.name] = random.integers(0, WORDS, shape) if is_words else random.normal(size=shape).astype(np.float32)
    return arrays
