#!/usr/bin/env python3
"""Write models of ONNX Runtime's own operators with what ONNX Runtime computes of them. Started by `cargo xtask oracles`.

These operators have no node tests. Each of ours has cases here: with its defaults, and with each of its attributes and of the
operands that it can do without.
"""

import argparse
from pathlib import Path

import cases
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

DOMAIN = "com.microsoft"
STANDARD_SET = 16  # without a LayerNormalization of ONNX
TOLERANCES = (1e-5, 1e-5)

numbers = np.random.default_rng(11)


def normal(*shape):
    return numbers.standard_normal(shape).astype(np.float32)


def codes(low, high, kind, *shape):
    return numbers.integers(low, high, shape).astype(kind)


def all_cases():
    """Name of the case, operator, inputs, attributes, and the inputs that are constants; one that is left out is None."""
    x, rows, gain = normal(2, 3, 8), normal(2, 3, 8), [normal(8), normal(8), normal(8)]
    own = "own"  # in the domain of ONNX Runtime
    yield "gelu", own, "Gelu", [3 * x]
    yield "bias_gelu", own, "BiasGelu", [3 * x, gain[0]], {}, [1]
    yield "fast_gelu", own, "FastGelu", [3 * x]
    yield "fast_gelu_bias", own, "FastGelu", [3 * x, gain[0]], {}, [1]
    yield "quick_gelu", own, "QuickGelu", [3 * x]
    yield "quick_gelu_alpha", own, "QuickGelu", [3 * x], {"alpha": 1.25}
    for name in ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"]:
        snake = "skip_layer_normalization" if name == "SkipLayerNormalization" else "skip_rms"
        given = [x, rows, *gain] if name == "SkipLayerNormalization" else [x, rows, *gain[:2]]
        constants = list(range(2, len(given)))
        yield snake, own, name, given[:3], {}, [2]
        yield f"{snake}_all", own, name, given, {"epsilon": 0.125}, constants, 4
        yield f"{snake}_broadcast", own, name, [x, rows[0], *given[2:]], {}, constants
    yield "skip_layer_normalization_no_beta", own, "SkipLayerNormalization", [x, rows, gain[0], None, gain[1]], {}, [2, 4]
    yield "layer_normalization", "standard", "LayerNormalization", [x, gain[0], gain[1]], {}, [1, 2], 3
    yield "layer_normalization_axis", "standard", "LayerNormalization", [x, normal(3, 8)], {"axis": 1, "epsilon": 0.25}, [1]
    yield "simplified_layer_normalization", "standard", "SimplifiedLayerNormalization", [x, gain[0]], {}, [1]
    yield "simplified_layer_normalization_axis", "standard", "SimplifiedLayerNormalization", [x, normal(3, 8)], {"axis": 1}, [1], 2
    yield from products()
    yield from layers_of_codes()
    yield from fused()
    yield from heads()
    yield from grouped_heads()
    yield from packed_weights()
    image, grid = normal(1, 2, 5, 6), np.float32(0.7) * normal(1, 3, 4, 2)
    yield "grid_sample", own, "GridSample", [image, grid]
    yield "grid_sample_bicubic", own, "GridSample", [image, grid], {"mode": "bicubic", "padding_mode": "border", "align_corners": 1}
    yield "grid_sample_nearest", own, "GridSample", [image, grid], {"mode": "nearest", "padding_mode": "reflection"}
    yield "trilu", own, "Trilu", [normal(2, 4, 5)]
    yield "trilu_lower", own, "Trilu", [normal(2, 4, 5), np.int64(-1)], {"upper": 0}, [1]
    scale, zeros = np.float32([0.5, 0.25, 1.0]), np.uint16([32768, 100, 0])
    yield "quantize", own, "QuantizeLinear", [50 * x, np.float32(0.125), np.int16(-7)], {}, [1, 2]
    yield "quantize_axis", own, "QuantizeLinear", [50 * x, scale, zeros], {"axis": 1}, [1, 2]
    yield "dequantize", own, "DequantizeLinear", [codes(-300, 300, np.int16, 2, 3, 8), np.float32(0.125), np.int16(-7)], {}, [1, 2]
    yield "dequantize_axis", own, "DequantizeLinear", [codes(0, 999, np.uint16, 2, 3, 8), scale, zeros], {"axis": 1}, [1, 2]


def layers_of_codes():
    """Operands of codes with the scale and the zero point behind each, and those of the result. A scale that is no power of two
    leaves no ties, at which a rounding of f32 decides."""

    def grid(scale, zero, kind=np.uint8):
        return [np.float32(scale), kind(zero)]

    a, b = codes(0, 256, np.uint8, 2, 3, 8), codes(0, 256, np.uint8, 2, 3, 8)
    for name in ["QLinearAdd", "QLinearMul"]:
        snake = name.lower().replace("qlinear", "codes_")
        yield snake, "own", name, [a, *grid(0.031, 121), b, *grid(0.017, 99), *grid(0.043, 130)], {}, [1, 2, 4, 5, 6, 7]
        signed = [codes(-128, 128, np.int8, 3, 8), *grid(0.031, -7, np.int8), codes(-128, 128, np.int8, 8), *grid(0.017, 9, np.int8)]
        yield f"{snake}_signed", "own", name, [*signed, *grid(0.043, -3, np.int8)], {}, [1, 2, 4, 5, 6, 7]
    yield "codes_sigmoid", "own", "QLinearSigmoid", [a, *grid(0.031, 121), *grid(0.0041, 3)], {}, [1, 2, 3, 4]
    yield "codes_leaky_relu", "own", "QLinearLeakyRelu", [a, *grid(0.031, 121), *grid(0.027, 40)], {"alpha": 0.13}, [1, 2, 3, 4]
    x = codes(0, 256, np.uint8, 1, 3, 7, 7)
    pool = [x, *grid(0.031, 121), *grid(0.027, 119)]
    yield "codes_global_average_pool", "own", "QLinearGlobalAveragePool", pool, {"channels_last": 0}, [1, 2, 3, 4]
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    yield "codes_average_pool", "own", "QLinearAveragePool", pool, window, [1, 2, 3, 4]
    # Its exponentials are integers from a table: on a grid of 1/256, 5 of 48 codes are one off the nearest.
    yield "codes_softmax", "own", "QLinearSoftmax", [a, *grid(0.031, 121), *grid(0.0417, 3)], {"axis": -1, "opset": 13}, [1, 2, 3, 4]
    joined = [*grid(0.043, 130), a, *grid(0.031, 121), b, *grid(0.017, 99)]
    yield "codes_concat", "own", "QLinearConcat", joined, {"axis": 1}, [0, 1, 3, 4, 6, 7]
    weights, scales = codes(-127, 128, np.int8, 5, 6), np.float32([0.011, 0.007, 0.013, 0.003, 0.017, 0.005])
    # Codes up to 127: on processors with AVX2 and without VNNI, ONNX Runtime saturates sums of two larger products at 16 bits.
    rows, bias = codes(0, 128, np.uint8, 4, 5), codes(-900, 900, np.int32, 6)
    product = [rows, *grid(0.031, 121), weights, scales, np.zeros(6, np.int8), bias]
    yield "codes_gemm", "own", "QGemm", [*product, *grid(0.21, 77)], {}, [1, 2, 3, 4, 5, 6, 7, 8]
    yield "codes_gemm_real", "own", "QGemm", product, {}, [1, 2, 3, 4, 5, 6]
    turned_weights = [rows, *grid(0.031, 121), weights.T.copy(), *grid(0.011, 0, np.int8), bias]
    yield "codes_gemm_turned", "own", "QGemm", [*turned_weights, *grid(0.21, 77)], {"transB": 1, "alpha": 0.5}, [1, 2, 3, 4, 5, 6, 7, 8]


def products():
    for batch_a in (0, 1):
        for last_a in (0, 1):
            for batch_b, last_b in ((0, 0), (0, 1), (1, 0), (1, 1)):
                # Batches of 2 and 3, and products of [4, 5] and [5, 6].
                a = turned([2, 3], [4, 5], batch_a, last_a)
                b = turned([2, 3], [5, 6], batch_b, last_b)
                attributes = {"transBatchA": batch_a, "transA": last_a, "transBatchB": batch_b, "transB": last_b, "alpha": 0.25}
                yield f"matmul_{batch_a}{last_a}{batch_b}{last_b}", "own", "FusedMatMul", [normal(*a), normal(*b)], attributes
    yield "matmul", "own", "FusedMatMul", [normal(4, 5), normal(5, 6)]
    yield "matmul_vector", "own", "FusedMatMul", [normal(5), normal(5, 6)], {"transA": 1}
    yield "matmul_weight", "own", "FusedMatMul", [normal(2, 4, 5), normal(6, 5)], {"transB": 1, "alpha": 0.5}, [1]
    yield "matmul_weight_first", "own", "FusedMatMul", [normal(5, 4), normal(2, 5, 6)], {"transA": 1, "alpha": 0.5}, [0]
    yield "transpose_matmul", "own", "TransposeMatMul", [normal(2, 5, 4), normal(2, 5, 6)], {"transA": 1, "alpha": 2.0}


def turned(batch, last, is_batch, is_last):
    """The extents that an operand has which is turned round to be of these."""
    if is_last:
        last = last[::-1]
    # What comes first is behind the batch once it has been turned.
    return [last[0], *batch, last[1]] if is_batch else [*batch, *last]


def fused():
    a, b, c = normal(4, 5), normal(5, 6), normal(6)
    yield "gemm", "own", "FusedGemm", [a, b, c], {"activation": "Relu"}, [1, 2]
    gemm = {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0, "activation": "LeakyRelu", "activation_alpha": 0.25}
    yield "gemm_all", "own", "FusedGemm", [a.T.copy(), b.T.copy(), c], gemm, [1, 2]
    for activation, more in (
        ("Sigmoid", {}), ("Tanh", {}), ("Softplus", {}), ("Elu", {"activation_alpha": 0.5}),
        ("HardSigmoid", {"activation_alpha": 0.25, "activation_beta": 0.5}), ("Softsign", {}),
        ("Selu", {"activation_alpha": 1.5, "activation_gamma": 1.25}), ("ThresholdedRelu", {"activation_alpha": 0.75}),
    ):  # fmt: skip
        yield f"gemm_{activation.lower()}", "own", "FusedGemm", [a, b], {"activation": activation, **more}, [1]
    x, w, bias, z = normal(1, 4, 6, 6), normal(8, 4, 3, 3), normal(8), normal(1, 8, 4, 4)
    window = {"kernel_shape": [3, 3]}
    yield "conv", "own", "FusedConv", [x, w], {**window, "activation": "Relu"}, [1]
    yield "conv_sum", "own", "FusedConv", [x, w, bias, z], {**window, "activation": "Relu"}, [1, 2]
    wide = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2], "group": 2}
    for activation, params in (
        ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.25]), ("Clip", [-0.5, 1.5]), ("HardSigmoid", [0.25, 0.5]),
    ):  # fmt: skip
        more = {"activation_params": params} if params else {}
        yield f"conv_{activation.lower()}", "own", "FusedConv", [x, w[:, :2], bias], {**wide, "activation": activation, **more}, [1, 2]


def heads():
    """Rotary embedding, and attention where each head has keys of its own."""
    x, rows, angles = normal(2, 4, 3, 8), normal(2, 3, 32), [normal(12, 4), normal(12, 4)]
    positions, first = np.int64([[3, 1, 4], [2, 7, 1]]), np.int64([5])
    few = [table[:, :2].copy() for table in angles]
    part = {"num_heads": 4, "rotary_embedding_dim": 4}
    for name, inputs, attributes in (
        ("", [x, positions, *angles], {}), ("_first", [x, first, *angles], {"interleaved": 1}),
        ("_rows", [rows, positions, *angles], {}), ("_rows_first", [rows, first, *angles], {"num_heads": 4, "scale": 0.5}),
        ("_part", [x, positions, *few], {**part, "interleaved": 1}), ("_rows_part", [rows, positions, *few], part),
    ):  # fmt: skip
        yield f"rotary{name}", "own", "RotaryEmbedding", inputs, attributes, [2, 3]
    query, key, value, bias = normal(2, 3, 32), normal(2, 5, 32), normal(2, 5, 48), normal(112)
    four = {"num_heads": 4}

    def heads_of(name, inputs, attributes={}, constants=[], results=1):
        return f"heads{name}", "own", "MultiHeadAttention", inputs, {**four, **attributes}, constants, results

    masks = np.int32([[1, 1, 0, 1, 0], [0, 0, 1, 1, 1]]), np.int32([5, 3]), np.ones((2, 3, 5), np.int32)
    masks[2][:, 1, 2:] = 0
    yield heads_of("", [query, key, value])
    yield heads_of("_scale", [query, key, value, bias], {"scale": 0.25}, [3])
    for name, mask in zip(["", "_lengths", "_each"], masks):
        yield heads_of(f"_mask{name}", [query, key, value, None, mask])
    yield heads_of("_mask_value", [query, key, value, None, masks[0]], {"mask_filter_value": -1.5})
    for name, shape in (("", (2, 4)), ("_broadcast", (1, 4)), ("_broadcast_heads", (1, 1))):
        yield heads_of(f"_summand{name}", [query, key, value, None, None, normal(*shape, 3, 5)])
    yield heads_of("_all", [query, key, value, bias, masks[0], normal(1, 4, 3, 5)], {"mask_filter_value": -3.0}, [3])
    new, past = [normal(2, 3, 32), normal(2, 3, 32)], [normal(2, 4, 4, 8), normal(2, 4, 4, 8)]
    yield heads_of("_unidirectional", [query, *new], {"unidirectional": 1}, [], 3)
    yield heads_of("_past", [query, *new, None, None, None, *past], {}, [], 3)
    yield heads_of("_past_unidirectional", [query, *new, None, np.int32([[1, 0, 1, 1, 1, 1, 1]] * 2), None, *past], {"unidirectional": 1}, [], 3)
    one = [array[:, :1].copy() for array in (query, *new)]
    yield heads_of("_past_one", [*one, bias[:96], None, None, *past], {"unidirectional": 1}, [3], 3)
    yield heads_of("_cross", [query, *past])


def grouped_heads():
    """A prefill, and steps after a past: one that fits exactly, one with more room, and one whose length is an input."""
    query, key, value = normal(2, 5, 64), normal(2, 5, 32), normal(2, 5, 32)
    packed = np.concatenate([query, key, value], 2)
    angles = [normal(12, 8), normal(12, 8)]
    past = [normal(2, 2, 6, 16), normal(2, 2, 6, 16)]
    one = [array[:, :1].copy() for array in (query, key, value)]
    first, after = [np.int32([4, 4]), np.int32([5])], [np.int32([6, 6]), np.int32([7])]
    rotary = {"do_rotary": 1}

    def groups(name, inputs, attributes={}, late=False, results=3):
        constants = [k for k in ((6, 7, 8) if late else (5, 6, 7, 8)) if k < len(inputs) and inputs[k] is not None]
        attributes = {"num_heads": 4, "kv_num_heads": 2, **attributes}
        return f"groups{name}", "own", "GroupQueryAttention", inputs, attributes, constants, results

    prefill = [query, key, value, None, None, *first]
    none = [None] * 3
    yield groups("", prefill)
    yield groups("_scale", prefill, {"scale": 0.25, "softcap": 0.5})
    yield groups("_rotary", [*prefill, *angles], rotary)
    yield groups("_rotary_interleaved", [*prefill, *angles], {**rotary, "rotary_interleaved": 1})
    yield groups("_packed", [packed, *none, None, *first, *angles], rotary)
    yield groups("_window", prefill, {"local_window_size": 2})
    yield groups("_all_seen", prefill, {"causal": 0})
    yield groups("_summand", [*prefill, *none, normal(1, 4, 5, 5)])
    yield groups("_sink", [*prefill, *none, None, normal(4)])
    yield groups("_smooth", prefill, {"smooth_softmax": 1})
    yield groups("_only", prefill, {}, False, 1)
    yield groups("_late", [*prefill, *angles], rotary, True)
    yield groups("_room", [query, key, value, *past, *first])
    for name, late in (("", False), ("_late", True)):
        yield groups(f"_past{name}", [*one, *past, *after], {}, late)
        yield groups(f"_past_rotary{name}", [*one, *past, *after, *angles], rotary, late)
        yield groups(f"_past_window{name}", [*one, *past, *after], {"local_window_size": 3}, late)
        yield groups(f"_past_ragged{name}", [*one, *past, np.int32([6, 4]), after[1], *angles], rotary, late)
        yield groups(f"_past_room{name}", [*one, *past, np.int32([4, 3]), np.int32([5]), *angles], rotary, late)
        several = [array[:1, :3].copy() for array in (query, key, value)]
        one_past = [array[:1].copy() for array in past]
        yield groups(f"_past_several{name}", [*several, *one_past, np.int32([8]), np.int32([9]), *angles], {**rotary, "local_window_size": 4}, late)
    yield groups("_past_packed", [packed[:, :1].copy(), None, None, *past, *after, *angles], rotary)


def packed_weights():
    """Products with packed weights, whose scales may be negative, and rows of packed tables."""
    x = normal(2, 3, 64)

    def weights(name, bits, block, inner, zeros=None, bias=False, attributes={}, positive=True):
        blocks = -(-inner // block)
        packed = codes(0, 256, np.uint8, 10, blocks, block * bits // 8)
        scales = np.abs(normal(10, blocks)) / 8 if positive else normal(10, blocks) / 8
        given = None
        if zeros == "packed":
            given = codes(0, 256, np.uint8, 10, -(-blocks * bits // 8))
        elif zeros == "float":
            given = codes(0, 16, np.float32, 10, blocks) + np.float32(0.25)
        inputs = [x[..., :inner].copy(), packed, scales, given, None, normal(10) if bias else None]
        while inputs[-1] is None:
            inputs.pop()
        attributes = {"K": inner, "N": 10, "bits": bits, "block_size": block, **attributes}
        return f"nbits_{name}", "own", "MatMulNBits", inputs, attributes, [k for k in range(1, len(inputs)) if inputs[k] is not None]

    for bits in (4, 8):
        yield weights(f"{bits}", bits, 16, 64)
        yield weights(f"{bits}_zeros", bits, 16, 48, "packed")
        if bits == 4:  # ONNX Runtime computes zero points of floats only here
            yield weights("4_float_zeros", bits, 32, 64, "float")
        yield weights(f"{bits}_bias", bits, 32, 64, "packed", True, {"accuracy_level": 1})
        yield weights(f"{bits}_negative", bits, 32, 64, None, False, {}, False)
        yield weights(f"{bits}_uneven", bits, 32, 56, "packed")
        yield weights(f"{bits}_rows", bits, 64, 64)
    at = np.int64([[0, 6], [3, 3]])
    for kind, bits, low, high in (("int4", 4, -8, 8), ("uint4", 4, 0, 16)):
        element = getattr(onnx.TensorProto, kind.upper())
        table = [helper.make_tensor(name, element, shape, codes(low, high, np.int8, *shape).ravel()) for name, shape in (("t", [7, 3, 32]), ("z", [7, 3, 2]))]
        scales = np.abs(normal(7, 3, 2))
        gathered = {"block_size": 16, "quantize_axis": 2}
        yield f"gather_{kind}", "own", "GatherBlockQuantized", [table[0], at, scales], gathered, [0, 2]
        yield f"gather_{kind}_zeros", "own", "GatherBlockQuantized", [table[0], at % 3, scales, table[1]], {**gathered, "gather_axis": 1}, [0, 2, 3]
    for bits in (4, 8):
        table = codes(0, 256, np.uint8, 7, 48 * bits // 8)
        scales, zeros = np.abs(normal(7, 3)), codes(0, 256, np.uint8, 7, 2 if bits == 4 else 3)
        gathered = {"block_size": 16, "bits": bits}
        yield f"gather_bytes_{bits}", "own", "GatherBlockQuantized", [table, at, scales], gathered, [0, 2]
        yield f"gather_bytes_{bits}_zeros", "own", "GatherBlockQuantized", [table, at.astype(np.int32), scales, zeros], gathered, [0, 2, 3]


def tensor_of(value, name):
    """A tensor of an array, or a tensor that is already one, for types that NumPy does not have."""
    if isinstance(value, onnx.TensorProto):
        copy = onnx.TensorProto()
        copy.CopyFrom(value)
        copy.name = name
        return copy
    return numpy_helper.from_array(np.asarray(value), name)


def model_of(domain, operator, inputs, attributes, constants, results):
    """A model of one node, whose outputs have the types that ONNX Runtime finds."""
    names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
    # Of the results between the first and the last none is wanted where the operator does not compute them.
    outputs = [f"o{k}" for k in range(results)]
    if operator.startswith("Skip"):
        outputs = [name if k in (0, 3) else "" for k, name in enumerate(outputs)]
    node = helper.make_node(operator, names, outputs, domain=domain, **attributes)
    tensors = {name: tensor_of(value, name) for name, value in zip(names, inputs) if name}
    fixed = {f"i{k}" for k in constants}
    ports = [
        helper.make_tensor_value_info(name, tensor.data_type, tensor.dims)
        for name, tensor in tensors.items() if name not in fixed
    ]  # fmt: skip
    graph = helper.make_graph(
        [node], "case", ports,
        [onnx.ValueInfoProto(name=name) for name in outputs if name],
        [tensor for name, tensor in tensors.items() if name in fixed],
    )  # fmt: skip
    imports = [helper.make_opsetid("", STANDARD_SET), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    return model, [tensor for name, tensor in tensors.items() if name not in fixed]


def write(folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for name, where, operator, inputs, *more in all_cases():
        attributes, constants, results = [*more, *[{}, [], 1][len(more) :]]
        domain = DOMAIN if where == "own" else ""
        model, given = model_of(domain, operator, inputs, attributes, constants, results)
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = session.run(None, {tensor.name: numpy_helper.to_array(tensor) for tensor in given})
        for value, info in zip(found, model.graph.output, strict=True):
            info.CopyFrom(helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        # The node tests tell what an operator becomes that ONNX defines later.
        qualified = f"{domain}.{operator}" if domain else operator if operator != "LayerNormalization" else None
        folder.add(f"runtime_{name}", model, TOLERANCES, qualified, given, [numpy_helper.from_array(value) for value in found])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    with cases.folder(parser.parse_args().folder, __file__, onnx, onnxruntime) as folder:
        if folder:
            write(folder)


if __name__ == "__main__":
    main()
