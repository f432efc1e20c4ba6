"""The fake-quantized model that the target `ascend` writes, in ONNX Runtime, layer by layer against the deploy model.

Each layer gets what it has in the deploy model, whose sums are those of our integer executor: so no layer sees what another one has
done. It is cut in two, and each part is fed with the same numbers on both sides:

- the quantization, on the real numbers in front of the layer. AMCT's fake-quantized models round before they add the offset, and
  AscendQuant rounds behind that: codes are others where a number lies half way between two of them, and these are counted apart;
- the layer on codes, up to its dequantized result. Float32 holds every sum below 2^24; results of larger ones are counted apart.

Results are compared in codes of the grid on which they are read, or in 255ths of their range where no layer quantizes them.
"""

from dataclasses import dataclass, fields

import numpy as np
import onnx
import peers
from ascend_deploy import F32, Deploy, attributes

EXACT = 2**24


@dataclass
class Found:
    """Numbers of elements, and the largest difference of a result that is not counted apart, in codes and fractions of one."""

    codes: int = 0
    ties: int = 0  # codes that differ by one, half way between two
    one: int = 0  # codes that differ by one elsewhere
    more: int = 0
    results: int = 0  # of sums below 2^24
    results_one: int = 0
    results_more: int = 0
    wide: int = 0  # results of larger sums
    largest: float = 0.0

    def is_within(self):
        """Codes differ by one at most, and at ties alone; results by one at most."""
        return not (self.one or self.more or self.results_more) and self.largest <= 1

    def __str__(self):
        codes = f"{self.codes} codes: {self.ties} other by 1 at ties, {self.one} elsewhere, {self.more} by more"
        results = f"{self.results} results: {self.results_one} other by 1, {self.results_more} by more, {self.largest:.1e} apart at most"
        return f"{codes}; {results}; {self.wide} of sums from 2^24 on"


def total(report):
    """Of all layers."""
    whole = Found()
    for field in fields(Found):
        combine = max if field.name == "largest" else sum
        setattr(whole, field.name, combine(getattr(found, field.name) for found in report.values()))
    return whole


def compared(fake_path, deploy_path, inputs):
    """What is found for each layer, by its name."""
    fake, deploy = onnx.load(fake_path), Deploy(deploy_path)
    producers = {name: node for node in deploy.graph.node for name in node.output}
    operators = {node.name: node for node in deploy.graph.node}
    parts = {layer: parts_of(fake, *ends) for layer, ends in layers(fake.graph).items()}
    report = {layer: Found() for layer in parts}
    for sample in inputs:
        values = deploy.run({deploy.graph.input[0].name: sample})
        for layer, (quantization, product) in parts.items():
            found, dequant = report[layer], operators[f"{layer}.dequant"]
            codes = operators[layer].input[0]
            quant = producers[codes]
            known = attributes(quant)
            x, real = values[quant.input[0]], values[codes].astype(F32) - F32(known["offset"])
            count_codes(found, x, real - quantization(x), known)
            sums = np.abs(values[dequant.input[0]].astype(np.int64))
            result = values[dequant.output[0]]
            count_results(found, result, product(real), sums, reader(deploy.graph, dequant.output[0]))
    return report


def count_codes(found, x, apart, known):
    plain = x * F32(known["scale"])
    # With the offset and without: the sum with it is rounded, too.
    ties = half_way(plain) | half_way(plain + F32(known["offset"]))
    by_one = np.abs(apart) == 1
    found.codes += apart.size
    found.ties += int((by_one & ties).sum())
    found.one += int((by_one & ~ties).sum())
    found.more += int((np.abs(apart) > 1).sum())


def count_results(found, ours, theirs, sums, grid):
    scale, offset = grid or (255 / max(float(np.ptp(ours)), float(np.finfo(F32).tiny)), 0)
    within = sums < EXACT
    found.wide += int((~within).sum())
    found.results += int(within.sum())
    codes = [np.rint(result[within].astype(np.float64) * scale + offset) for result in (ours, theirs)]
    apart = np.abs(codes[0] - codes[1])
    found.results_one += int((apart == 1).sum())
    found.results_more += int((apart > 1).sum())
    if within.any():
        distance = np.abs(ours[within].astype(np.float64) - theirs[within])
        found.largest = max(found.largest, float(distance.max() * scale))


def half_way(x):
    return np.abs(x - np.trunc(x)) == 0.5


def layers(graph):
    """{layer: (what it quantizes, its operand of whole numbers, its dequantized result)} of a fake-quantized model."""
    producers = {name: node for node in graph.node for name in node.output}
    found = {}
    for node in graph.node:
        if node.name.endswith(".dequant"):
            at = producers[node.input[0]]
            while ".quant." not in at.name:
                whole = at.input[0]
                at = producers[whole]
            while at.op_type != "Mul":
                at = producers[at.input[0]]
            found[node.name.removesuffix(".dequant")] = (at.input[0], whole, node.output[0])
    return found


def parts_of(model, source, whole, result):
    return part(model, source, whole), part(model, whole, result)


def part(model, source, result):
    """The function of a model from one value to another, in ONNX Runtime."""
    producers = {name: node for node in model.graph.node for name in node.output}
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes, used, wanted = {}, {}, [result]
    while wanted:
        name = wanted.pop()
        if name in constants:
            used[name] = constants[name]
        elif name and name != source and name not in nodes:
            nodes[name] = producers[name]
            wanted.extend(producers[name].input)
    order = [node for node in model.graph.node if node.output[0] in nodes]
    ends = [[onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)] for name in (source, result)]
    graph = onnx.helper.make_graph(order, "part", *ends, initializer=list(used.values()))
    small = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    session = peers.session(small.SerializeToString())
    return lambda x: session.run(None, {source: x})[0]


def reader(graph, value):
    """1/scale and offset of the grid on which a value is read, through what only moves or clamps it."""
    for node in graph.node:
        if value in node.input:
            if node.op_type == "AscendQuant":
                known = attributes(node)
                return known["scale"], known["offset"]
            if node.op_type in ("Relu", "Min", "Clip", "MaxPool", "Reshape", "Flatten", "Squeeze", "Transpose"):
                return reader(graph, node.output[0])
    return None
