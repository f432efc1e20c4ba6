#!/usr/bin/env python3
"""Run the models that the target `ascend` writes:  ascend_package.py ARTIFACT INPUTS RAW

The deploy model is computed node by node with numpy, after the descriptions of AscendQuant, AscendDequant and AscendAntiQuant in
CANN's documents; ONNX's own operators are those of the onnx package. RAW is what `strait run --raw` wrote for INPUTS, the samples
as the network takes them. The fake-quantized model runs in ONNX Runtime, layer by layer on what the layers in front of it gave,
and is held against the same layer of the deploy model and of the Q/DQ model.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.reference
import onnx.utils
import peers

F32 = np.float32
EXACT = 2**24  # a float32 holds every sum of codes below


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


class Deploy:
    """The deploy model. Behind a run `ties` counts the elements that lay half way between two codes."""

    def __init__(self, path):
        self.graph = onnx.load(path).graph
        self.opset = onnx.load(path, load_external_data=False).opset_import
        self.constants = {t.name: onnx.numpy_helper.to_array(t) for t in self.graph.initializer}
        self.others = {}

    def run(self, inputs):
        """{value: array}, sums and codes among them."""
        values = {**self.constants, **inputs}
        self.zeros, self.counts = {}, {}
        for node in self.graph.node:
            operands = [values[name] if name else None for name in node.input]
            for name, result in zip(node.output, self.compute(node, operands)):
                values[name] = result
        return values

    def compute(self, node, operands):
        first = operands[0] if operands else None
        known = attributes(node)
        if node.op_type == "AscendQuant":
            assert known["dst_type"] == b"INT8"
            self.zeros[node.output[0]] = int(known["offset"])
            return [quantized(first, known)]
        if node.op_type == "AscendAntiQuant":
            # The parser of ONNX models turns the offset's sign; the operator adds it.
            return [((first.astype(F32) + F32(-known["offset"])) * F32(known["scale"])).astype(F32)]
        if node.op_type == "AscendDequant":
            assert known["dtype"] == 0
            factor = factors(operands[1]) / F32(self.counts.get(node.input[0], 1))
            axis = 1 if factor.size > 1 else 0
            shape = [-1 if a == axis and factor.size > 1 else 1 for a in range(first.ndim)]
            return [first.astype(F32) * factor.reshape(shape)]
        if first is not None and first.dtype == np.int8:
            # Padding reads as real zero, and the zero point leaves the sums.
            real = first.astype(np.int64) - self.zeros[node.input[0]]
            if node.op_type == "Conv":
                return [sums(convolution(real, operands, known))]
            if node.op_type in ("Gemm", "MatMul"):
                return [sums(product(real, operands))]
            if node.op_type == "AveragePool":
                size = known["kernel_shape"]
                self.counts[node.output[0]] = int(np.prod(size))
                return [sums(windows(real, size, known).sum(axis=(-1, -2)))]
            raise ValueError(f"{node.name}: {node.op_type} on codes")
        if first is not None and first.dtype == np.int32 and node.op_type == "Add":
            return [sums(first.astype(np.int64) + operands[1])]
        return self.standard(node, operands)

    def standard(self, node, operands):
        """An operator of ONNX's own, on numbers."""
        model = self.others.get(node.name)
        present = [name for name in node.input if name]
        if model is None:
            untyped = [onnx.helper.make_value_info(n, onnx.TypeProto()) for n in dict.fromkeys(present)]
            results = [onnx.helper.make_value_info(n, onnx.TypeProto()) for n in node.output]
            graph = onnx.helper.make_graph([node], "node", untyped, results)
            model = onnx.reference.ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=self.opset))
            self.others[node.name] = model
        return model.run(None, {name: value for name, value in zip(node.input, operands) if name})


def quantized(x, known):
    assert x.dtype == F32
    code = np.rint(x * F32(known["scale"]) + F32(known["offset"]))
    return np.clip(code, -128, 127).astype(np.int8)


def half_way(x):
    return np.abs(x - np.trunc(x)) == 0.5


def factors(words):
    """Bits 0 to 31 of each word are those of a float32; no shift and no offset of the weights here."""
    assert words.dtype == np.uint64 and not np.any(words >> np.uint64(32))
    return words.astype(np.uint32).view(F32)


def sums(x):
    assert x.min() >= -(2**31) and x.max() < 2**31
    return x.astype(np.int32)


def windows(x, size, known):
    """[N, C, H', W', h, w]; padding reads 0."""
    (top, left, bottom, right), strides = known.get("pads") or [0] * 4, known.get("strides") or [1, 1]
    rates = known.get("dilations") or [1, 1]
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    extent = tuple(1 + d * (s - 1) for d, s in zip(rates, size))
    view = np.lib.stride_tricks.sliding_window_view(x, extent, axis=(2, 3))
    return view[:, :, :: strides[0], :: strides[1], :: rates[0], :: rates[1]]


def convolution(x, operands, known):
    weight, groups = operands[1].astype(np.float64), known["group"]
    outputs, inputs = weight.shape[:2]
    view = windows(x, weight.shape[2:], known).astype(np.float64)
    n, _, height, width = view.shape[:4]
    # A sum of products of codes stays far below 2^53, so that float64 adds it exactly.
    view = view.transpose(0, 2, 3, 1, 4, 5).reshape(n, height, width, groups, -1)
    weight = weight.reshape(groups, outputs // groups, -1)
    result = np.matmul(view.transpose(0, 3, 1, 2, 4).reshape(n, groups, height * width, -1), weight.transpose(0, 2, 1))
    result = result.transpose(0, 1, 3, 2).reshape(n, outputs, height, width).astype(np.int64)
    return result + (operands[2].astype(np.int64).reshape(1, -1, 1, 1) if len(operands) > 2 else 0)


def product(x, operands):
    result = (x.astype(np.float64) @ operands[1].astype(np.float64)).astype(np.int64)
    return result + (operands[2].astype(np.int64) if len(operands) > 2 else 0)


def only(artifact, ending):
    (path,) = sorted(artifact.glob(f"*{ending}"))
    return path


def differing(artifact, inputs, raw):
    """How many samples have other integers than `raw` in front of the dequantization of the output, and how far apart they are."""
    deploy = Deploy(only(artifact, "_deploy_model.onnx"))
    producers = {name: node for node in deploy.graph.node for name in node.output}
    node = producers[deploy.graph.output[0].name]
    while node.op_type != "AscendDequant":
        node = producers[node.input[0]]
    count, most = 0, 0
    for sample, expected in zip(inputs, raw, strict=True):
        found = deploy.run({deploy.graph.input[0].name: sample})[node.input[0]].astype(np.int64).reshape(expected.shape)
        count += not np.array_equal(found, expected)
        most = max(most, int(np.abs(found - expected).max()))
    return count, most


def layers(graph):
    """{layer: (the operator, what it quantizes, its dequantized result)} of a fake-quantized model."""
    producers = {name: node for node in graph.node for name in node.output}
    found = {}
    for node in graph.node:
        if node.name.endswith(".dequant"):
            layer = node.name.removesuffix(".dequant")
            at = producers[node.input[0]]
            product = at
            while ".quant." not in at.name:
                at = producers[at.input[0]]
                product = at if at.op_type in ("Conv", "Gemm", "MatMul", "AveragePool") else product
            while at.op_type != "Mul":
                at = producers[at.input[0]]
            found[layer] = (product, at.input[0], node.output[0])
    return found


def fake_against_deploy(artifact, inputs):
    """For each layer, on what the fake-quantized model has in front of it: the largest distance of the results in steps of the
    sums, how many codes differ at all, how many of them not at a tie, and whether all sums are exact in float32."""
    path = only(artifact, "_fake_quant_model.onnx")
    fake = onnx.load(path)
    deploy = Deploy(only(artifact, "_deploy_model.onnx"))
    table = layers(fake.graph)
    # Everything that is read or written by a layer becomes an output.
    names = {name for _, *ends in table.values() for name in ends} | {op.input[0] for op, *_ in table.values()}
    present = {output.name for output in fake.graph.output} | {value.name for value in fake.graph.input}
    wanted = sorted(names - present)
    fake.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in wanted)
    session = peers.session(fake.SerializeToString())
    by_output = {name: node for node in deploy.graph.node for name in node.output}
    operators = {node.name: node for node in deploy.graph.node}
    report = {layer: [0.0, 0, 0, True] for layer in table}
    outputs = [output.name for output in session.get_outputs()]
    for sample in inputs:
        feed = {session.get_inputs()[0].name: sample}
        values = {**feed, **dict(zip(outputs, session.run(None, feed)))}
        for layer, (operator, source, result) in table.items():
            node, dequant = operators[layer], operators[f"{layer}.dequant"]
            quant = by_output[node.input[0]]
            known = attributes(quant)
            x = values[source]
            codes = quantized(x, known)
            theirs = values[operator.input[0]] + F32(known["offset"])
            # Half way between two codes, with the offset or without: adding it rounds, too.
            plain = x * F32(known["scale"])
            ties = half_way(plain) | half_way(plain + F32(known["offset"]))
            entry = report[layer]
            entry[1] += int((codes != theirs).sum())
            entry[2] += int(((codes != theirs) & ~ties).sum())
            # The layer on the codes of the fake-quantized model: one step apart at most.
            deploy.zeros, deploy.counts = {node.input[0]: int(known["offset"])}, {}
            operands = [theirs.astype(np.int8), *(deploy.constants[name] for name in node.input[1:])]
            (total,) = deploy.compute(node, operands)
            if dequant.input[0] != node.output[0]:
                adds = by_output[dequant.input[0]]
                (total,) = deploy.compute(adds, [total, deploy.constants[adds.input[1]]])
                deploy.counts = {}
            exact = bool(np.abs(total.astype(np.int64)).max() < EXACT)
            (ours,) = deploy.compute(dequant, [total, deploy.constants[dequant.input[1]]])
            entry[3] &= exact
            if exact:
                # In steps of the grid that the reader of the result quantizes to, or of the result's own range of codes.
                step = step_of(deploy.graph, dequant.output[0], ours)
                entry[0] = max(entry[0], float(np.abs(ours - values[result]).max() / step))
    return report


def step_of(graph, value, x):
    """A step of the grid on which a value is read, through what only moves or clamps it; else 1/255 of what it spans."""
    for node in graph.node:
        if value in node.input:
            if node.op_type == "AscendQuant":
                return 1 / attributes(node)["scale"]
            if node.op_type in ("Relu", "Min", "MaxPool", "Reshape", "Flatten", "Squeeze", "Transpose", "Add"):
                return step_of(graph, node.output[0], x)
    return max(float(np.ptp(x)) / 255, float(np.finfo(F32).tiny))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("raw", type=Path)
    parser.add_argument("--samples", type=int, help="the first ones only")
    arguments = parser.parse_args()
    inputs, raw = np.load(arguments.inputs)[: arguments.samples], np.load(arguments.raw)[: arguments.samples]
    count, most = differing(arguments.artifact, inputs, raw)
    print(f"deploy model: {count} of {len(raw)} samples differ, by {most} at most")
    report = fake_against_deploy(arguments.artifact, inputs)
    for layer, (steps, codes, apart, exact) in report.items():
        print(f"{layer}: {steps:.4f} steps, {codes} other codes, {apart} of them at no tie, sums exact: {exact}")
    sys.exit(1 if count or any(steps > 1 or apart for steps, _, apart, _ in report.values()) else 0)


if __name__ == "__main__":
    main()
