#!/usr/bin/env python3
"""Read the package that the target `sima` writes, and run it with numpy:  sima_package.py ARTIFACT INPUTS RAW

A second implementation of the network's integers, after docs/sima-package.md. INPUTS are samples as the network takes
them, but with channels last, RAW what `strait run --raw` wrote for them. Covers the ops of convolutional networks.
"""

import argparse
import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import yaml


def load(artifact):
    """(the document with the nodes, {key: array}, the package's description)."""
    with zipfile.ZipFile(artifact / "model.sima") as archive:
        documents = yaml.load(archive.read("model.yaml"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        with np.load(io.BytesIO(archive.read("model.npz"))) as file:
            arrays = {key: file[key] for key in file.files}
    root = next(document for document in documents if "nodes" in document)
    return root, arrays, json.loads((artifact / "model_mpk.json").read_text())


def nodes(root):
    """All nodes, those of subgraphs at their place."""
    for node in root["nodes"]:
        if node["ir"]["node_type"] == "subgraph":
            yield from node["ir"]["nodes"]
        else:
            yield node


def weights(root, arrays):
    """Layers by each of their source names, with their weights as ONNX has them: [O, I, H, W]."""
    for node in nodes(root):
        key = node["ir"].get("quant", {}).get("weight_quant_data")
        if key:
            height, width, inputs, groups, outputs = arrays[key].shape
            weight = arrays[key].transpose(3, 4, 2, 0, 1).reshape(groups * outputs, inputs, height, width)
            for source in node["sources"]:
                yield source, weight


def run(root, arrays, inputs):
    """{value: array} for inputs by name. Stops in front of the first op that needs a float."""
    values = dict(inputs)
    for node in nodes(root):
        operands = [values.get(name) for name in node["inputs"]]
        if any(operand is None for operand in operands):
            continue  # behind a dequantize
        results = compute(node, operands, arrays)
        for output, result in zip(node["outputs"], results):
            expected = (tuple(output["shape"]), np.dtype(output["dtype"]))
            if (result.shape, result.dtype) != expected:
                raise ValueError(f"{output['name']}: {result.dtype}{result.shape}, expected {expected}")
            values[output["name"]] = result
    return values


def compute(node, operands, arrays):
    """The results of a node; none for a dequantize."""
    ir = node["ir"]
    attrs, quant = ir.get("attrs", {}), ir.get("quant", {})
    op = quant.get("op") or ir["op"]
    if op == "dequantize":
        return []
    if op == "constant":
        return [arrays[ir["data"]]]
    if op == "quantize":
        return [quantize(operands[0], attrs)]
    if op not in OPS:
        raise ValueError(f"{node['name']}: {op} is not covered")
    results = OPS[op](node, operands, arrays)
    finished = [finish(result, quant, arrays) for result in results]
    return [result.astype(output["dtype"]) for result, output in zip(finished, node["outputs"])]


def quantize(x, attrs):
    ((scale, zero),) = attrs["channel_params"]
    assert attrs["rounding"] == "TONEAREST"
    step = np.float32(1 / scale)  # the division is in float32
    kind = np.dtype(attrs["output_data_type"])
    return np.clip(np.rint(x / step) + zero, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)


def finish(accumulator, quant, arrays):
    """Requantization, then the clip of an activation."""
    if "requant" in quant:
        accumulator = requantize(accumulator, quant["requant"], arrays)
    if "clip" in quant:
        accumulator = np.clip(accumulator, *quant["clip"])
    return accumulator


def requantize(x, form, arrays):
    x = x.astype(np.int64)
    kind = np.dtype(form["out_dtype"])

    def parameter(name):
        value = form.get(name, 0)
        if not isinstance(value, str):
            return np.int64(value)
        shape = [1] * x.ndim
        shape[form["channel_axis"]] = -1
        return arrays[value].astype(np.int64).reshape(shape)

    assert form["rounding"] == "half_even"
    before, after = {
        "arith_folded": (lambda: x, 0),
        "fractional_zero": (lambda: x * parameter("sc_correction") + parameter("zp_correction"), 0),
        "tf_lite": (lambda: x * parameter("sc_correction"), parameter("zp_correction")),
        "fixed": (lambda: x * parameter("sc") + parameter("add"), parameter("zp")),
    }[form["type"]]
    rounded = shift_half_even(before(), parameter("shift")) + after
    return np.clip(rounded, np.iinfo(kind).min, np.iinfo(kind).max)


def shift_half_even(x, shift):
    """x / 2^shift rounded to the nearest integer, ties to the even one."""
    quotient = x >> shift
    twice_rest = (x - (quotient << shift)) << 1
    divisor = np.int64(1) << shift
    return quotient + ((twice_rest > divisor) | ((twice_rest == divisor) & (quotient & 1 == 1)))


# ---- ops; a product of codes stays far below 2^53, so that float64 adds it exactly ----


def windows(x, size, attrs, fill):
    """[N, H', W', h, w, C]: the windows of x [N, H, W, C]."""
    top, left, bottom, right = attrs["pad"]
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    if attrs.get("ceil"):
        # One more window where it begins inside of what is there.
        stride, extent = attrs["stride"], [1 + d * (s - 1) for d, s in zip(attrs["dilation"], size)]
        more = [-(x.shape[1 + a] - extent[a]) % stride[a] for a in (0, 1)]
        starts = [x.shape[1 + a] + more[a] - extent[a] for a in (0, 1)]
        ends = [x.shape[1] - bottom, x.shape[2] - right]
        more = [m if s < e else 0 for m, s, e in zip(more, starts, ends)]
        x = np.pad(x, ((0, 0), (0, more[0]), (0, more[1]), (0, 0)), constant_values=fill)
    extent = tuple(1 + d * (s - 1) for d, s in zip(attrs["dilation"], size))
    view = np.lib.stride_tricks.sliding_window_view(x, extent, axis=(1, 2))
    view = view[:, :: attrs["stride"][0], :: attrs["stride"][1], :, :: attrs["dilation"][0], :: attrs["dilation"][1]]
    return view.transpose(0, 1, 2, 4, 5, 3)


def conv(node, operands, arrays):
    attrs, quant = node["ir"]["attrs"], node["ir"]["quant"]
    weight = arrays[quant["weight_quant_data"]].astype(np.float64)
    height, width, inputs, groups, outputs = weight.shape
    x = windows(operands[0], (height, width), attrs, attrs["pad_value"]).astype(np.float64)
    x = x.reshape(*x.shape[:5], groups, inputs)
    product = np.einsum("nyxhwgi,hwigo->nyxgo", x, weight, optimize=True)
    return [product.reshape(*product.shape[:3], groups * outputs).astype(np.int64) + bias(quant, arrays)]


def dense(node, operands, arrays):
    quant = node["ir"]["quant"]
    weight = arrays[quant["weight_quant_data"]].astype(np.float64)[0, 0, :, 0, :]
    return [nhwc(nchw(operands[0]).astype(np.float64) @ weight).astype(np.int64) + bias(quant, arrays)]


def bias(quant, arrays):
    return arrays[quant["bias_quant_data"]].astype(np.int64) if "bias_quant_data" in quant else 0


def sum_pool(node, operands, arrays):
    attrs = node["ir"]["attrs"]
    return [windows(operands[0], attrs["size"], attrs, attrs["pad_value"]).astype(np.int64).sum(axis=(3, 4))]


def max_pool(node, operands, arrays):
    attrs = node["ir"]["attrs"]
    least = np.iinfo(operands[0].dtype).min
    return [windows(operands[0], attrs["size"], attrs, least).max(axis=(3, 4))]


def lookup(node, operands, arrays):
    codes, table = operands
    return [table[codes.astype(np.int64) - np.iinfo(codes.dtype).min]]


def reshape(node, operands, arrays):
    """All that leaves the elements in their order, which is that of N, C, H, W."""
    (shape,) = [output["shape"] for output in node["outputs"]]
    shape = [shape[0], shape[3], shape[1], shape[2]] if len(shape) == 4 else shape
    return [nhwc(nchw(operands[0]).reshape(shape))]


def nchw(x):
    return x.transpose(0, 3, 1, 2) if x.ndim == 4 else x


def nhwc(x):
    return x.transpose(0, 2, 3, 1) if x.ndim == 4 else x


def plain(function):
    """An op whose attributes count axes as N, C, H, W."""

    def op(node, operands, arrays):
        results = function([nchw(operand).astype(np.int64) for operand in operands], node["ir"]["attrs"])
        return [nhwc(result) for result in (results if isinstance(results, list) else [results])]

    return op


def reduce(x, attrs):
    over = {"sum": np.sum, "max": np.max}[attrs["reduction"]]
    return over(x[0], axis=tuple(attrs["axes"]) or None, keepdims=bool(attrs["keep_dims"]))


def split(x, attrs):
    return np.split(x[0], np.cumsum(attrs["sizes"])[:-1], axis=attrs["axis"])


def cut(x, attrs):
    index = [slice(None)] * x[0].ndim
    for axis, start, end, step in zip(attrs["axes"], attrs["starts"], attrs["ends"], attrs["steps"]):
        index[axis] = slice(start, end, step)
    return x[0][tuple(index)]


def enlarge(x, attrs):
    """Nearest neighbours by whole factors, where the coordinates are those of the left upper corner."""
    factors = [int(scale) for scale in attrs["scales"]]
    assert factors == attrs["scales"] and (attrs["mode"], attrs["coordinate"]) == ("nearest", "asymmetric")
    result = x[0]
    for axis, factor in enumerate(factors):
        result = result.repeat(factor, axis)
    return result


def pad(x, attrs):
    assert attrs["mode"] == "constant"
    begins, ends = np.split(np.array(attrs["amounts"]), 2)
    return np.pad(x[0], list(zip(begins, ends)), constant_values=int(attrs["value"]))


OPS = {
    "conv": conv,
    "dense": dense,
    "sum_pool": sum_pool,
    "max_pool": max_pool,
    "lookup": lookup,
    **dict.fromkeys(("reshape", "flatten", "squeeze", "unsqueeze"), reshape),
    "reduce": plain(reduce),
    "add": plain(lambda x, attrs: x[0] + x[1]),
    "sub": plain(lambda x, attrs: x[0] - x[1]),
    "mul": plain(lambda x, attrs: (x[0] - attrs["a_zero"]) * (x[1] - attrs["b_zero"])),
    "matmul": plain(lambda x, attrs: (x[0] - attrs["a_zero"]) @ (x[1] - attrs["b_zero"])),
    "requantize": plain(lambda x, attrs: x[0]),
    "clamp": plain(lambda x, attrs: np.clip(x[0], attrs["min"], attrs["max"])),
    "concat": plain(lambda x, attrs: np.concatenate(x, axis=attrs["axis"])),
    "transpose": plain(lambda x, attrs: x[0].transpose(attrs["permutation"])),
    "split": plain(split),
    "pad": plain(pad),
    "slice": plain(cut),
    "resize": plain(enlarge),
}


def differing(root, arrays, inputs, raw):
    """How many samples have other integers than `raw`, in front of the dequantization of the one output."""
    (name,) = [entry["name"] for entry in root["inputs"]]
    (last,) = [node["inputs"][0] for node in root["nodes"] if node["outputs"][0]["name"] == root["outputs"][0]]
    count = 0
    for sample, expected in zip(inputs, raw, strict=True):
        found = run(root, arrays, {name: sample[None]})[last]
        count += not np.array_equal(nchw(found).reshape(expected.shape), expected)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("raw", type=Path)
    parser.add_argument("--samples", type=int, help="the first ones only")
    arguments = parser.parse_args()
    inputs, raw = np.load(arguments.inputs)[: arguments.samples], np.load(arguments.raw)[: arguments.samples]
    root, arrays, description = load(arguments.artifact)
    different = differing(root, arrays, inputs, raw)
    print(" -> ".join(f"{plugin['name']} ({plugin['processor']})" for plugin in description["plugins"]))
    print(f"{different} of {len(raw)} samples differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
