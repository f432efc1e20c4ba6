#!/usr/bin/env python3
"""Compile decoders of language models with weights alone quantized, and run the files in ONNX Runtime at default settings. Started
by `cargo xtask oracles --operators`.

Outputs must be those of `strait run` up to the order of float sums, the written codes must stand for the weights of the Q/DQ file
bit for bit, and the outputs must be at least as near to those of the float model as with ONNX Runtime's own quantizer. With
--time, the file must not be slower than that of ONNX Runtime's quantizer.
"""

import argparse
import logging
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import onnx
import onnxruntime
import processes
from decoder_graphs import DECODERS, Sizes
from onnx import numpy_helper
from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

logging.disable(logging.WARNING)  # the quantizer names each node, and the operator set that it needs
# ONNX Runtime's quantizer has no embeddings of 8 bits, so these are left in float where the two are compared.
FORMS = [("int4", 32), ("int4", 128), ("uint4", 32), ("uint8", 32), ("uint8", 128), ("int8", 32), ("uint8", 64)]
WITH_EMBEDDINGS = ("uint8", 64)
# With random weights, the distance of a few logits to those of the float model varies more than the codes do.
TOLERANCE = 0.2
STEPS = {"prefill": (64, 0), "decode": (1, 64)}  # new tokens, and those of the past
SIZES = {
    "llama": Sizes(layers=4, width=512, key_heads=2, inner=1408, words=4000, longest=256, tied=False),
    "gpt2": Sizes(layers=4, width=512, inner=2048, words=4000, longest=256, tied=False),
}
LEAST_SNR = 100.0  # float sums in another order
SLOWEST = 1.05
CONFIG = """schema = 1
[model]
file = "{model}"
[target]
use = ["onnxruntime"]
[quantize]
activations.type = "float32"
weights = {{ type = "{ty}", per = "block", block = {block} }}
[output]
dir = "{out}"
emit = ["qoperator-onnx", "qdq-onnx"]
"""
NO_EMBEDDINGS = """[[quantize.rule]]
op = ["gather"]
run = "float"
"""


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    model = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def snr(of, near):
    signal = sum((a.astype(np.float64) ** 2).sum() for a in of)
    noise = sum(((a.astype(np.float64) - b) ** 2).sum() for a, b in zip(of, near, strict=True))
    return 10 * np.log10(signal / noise) if noise else np.inf


def theirs(model, ty, block, symmetric=False):
    """The model by ONNX Runtime's quantizer: with zero points, as its default. `symmetric` leaves 4 bits without zero points."""
    config = DefaultWeightOnlyQuantConfig(
        block_size=block,
        is_symmetric=symmetric or ty == "int8",
        accuracy_level=1,
        bits=bits_of(ty),
        op_types_to_quantize=("MatMul", "Gather") if bits_of(ty) == 4 else ("MatMul",),
        quant_axes=(("MatMul", 0), ("Gather", 1)),
    )
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    quantizer = MatMulNBitsQuantizer(copy, algo_config=config)
    quantizer.process()
    return quantizer.model.model.SerializeToString()


def bits_of(ty):
    return int(ty.removeprefix("u")[3:])


def unpacked(packed, bits, columns):
    """Codes without sign of rows of bytes."""
    rows = packed.reshape(packed.shape[0], -1)
    if bits == 4:
        rows = np.stack([rows & 15, rows >> 4], -1).reshape(len(rows), -1)
    return rows[:, :columns].astype(np.float32)


def packed_weights(model):
    """The weights [rows, columns] that the operators with blocks dequantize, by the name of the node."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if node.op_type not in ("MatMulNBits", "GatherBlockQuantized"):
            continue
        attributes = {attribute.name: attribute.i for attribute in node.attribute}
        bits, block = attributes.get("bits", 4), attributes["block_size"]
        table, scales = (constants[node.input[at]] for at in ((1, 2) if node.op_type == "MatMulNBits" else (0, 2)))
        rows = table.shape[0]
        scales = scales.reshape(rows, -1)
        if attributes.get("K", block) < block:
            continue  # a row is shorter than a block, as that of the frequencies of LLaMA
        if table.dtype != np.uint8:  # int4 and uint4, whose zero point is 0 if none is given
            given = len(node.input) > 3 and node.input[3]
            zeros = constants[node.input[3]].astype(np.float32) if given else np.zeros_like(scales)
            found[node.name] = (table.astype(np.float32) - zeros.repeat(block, 1)) * scales.repeat(block, 1)
            continue
        codes = unpacked(table, bits, scales.shape[1] * block)
        zeros = np.full_like(scales, 1 << (bits - 1))
        if len(node.input) > 3 and node.input[3]:
            zeros = unpacked(constants[node.input[3]].reshape(rows, -1), bits, scales.shape[1])
        found[node.name] = (codes - zeros.repeat(block, 1)) * scales.repeat(block, 1)
    return found


def pair_weights(model):
    """The dequantized weights of the Q/DQ file, by the name of the node."""
    model = onnx.shape_inference.infer_shapes(model)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    makers = {node.output[0]: node for node in model.graph.node if node.op_type == "DequantizeLinear"}
    found = {}
    for node in model.graph.node:
        made = next((makers[name] for name in node.input if name in makers and makers[name].input[0] in constants), None)
        if node.op_type not in ("MatMul", "Gemm", "Gather") or made is None:
            continue
        codes, scales, zeros = (numpy_helper.to_array(constants[name]).astype(np.float32) for name in made.input)
        attributes = {attribute.name: attribute.i for attribute in made.attribute}
        axis, block = attributes["axis"], attributes["block_size"]
        reals = (codes - zeros.repeat(block, axis)) * scales.repeat(block, axis)
        found[node.name] = reals if node.op_type == "Gather" else reals.T
    return found


def times(ours, other, inputs, runs):
    """The median times of two sessions, whose runs take turns."""
    taken = [[], []]
    for turn in range(runs + 3):
        for which, run in ((0, ours), (1, other)) if turn % 2 else ((1, other), (0, ours)):
            start = perf_counter()
            run.run(None, inputs)
            taken[which].append(perf_counter() - start)
    return [median(of[3:]) * 1e3 for of in taken]


def compare(arguments, kind, step, form):
    (new, past), (ty, block) = STEPS[step], form
    label = f"{kind}-{step}-{ty}-{block}"
    folder = arguments.work / label
    folder.mkdir(parents=True, exist_ok=True)
    model, inputs, _ = DECODERS[kind](7, new, past, sizes=SIZES[kind])
    onnx.save(model, folder / "model.onnx")
    out = folder / "build"
    is_compared = form != WITH_EMBEDDINGS
    rule = NO_EMBEDDINGS if is_compared and bits_of(ty) == 8 else ""
    (folder / "config.toml").write_text(CONFIG.format(model="model.onnx", ty=ty, block=block, out="build") + rule)
    processes.check([arguments.strait, "compile", folder / "config.toml"], folder / "compile.log")
    np.savez(folder / "inputs.npz", **inputs)
    processes.check([arguments.strait, "run", out, "--input", folder / "inputs.npz", "--output", folder / "outputs"], folder / "run.log")
    names = [value.name for value in model.graph.output]
    run = [np.load(folder / "outputs" / f"{at:03}_{name}.npy") for at, name in enumerate(names)]
    written = onnx.load(out / "model.qoperator.onnx")
    ours, other = session(out / "model.qoperator.onnx"), session(theirs(model, ty, block))
    real = session(model.SerializeToString()).run(names, inputs)
    got = ours.run(names, inputs)
    faults = []
    packed, pairs = packed_weights(written), pair_weights(onnx.load(out / "model.qdq.onnx"))
    unequal = [at for at in packed if at not in pairs or not np.array_equal(packed[at], pairs[at])]
    if unequal or len(packed) != len(pairs):
        faults.append(f"weights differ: {unequal[:3]}, {len(packed)} of {len(pairs)}")
    if any(node.op_type == "DequantizeLinear" for node in written.graph.node):
        faults.append("a DequantizeLinear is left")
    same = snr(run, got)
    if same < LEAST_SNR:
        faults.append("the outputs are not those of strait run")
    near = [snr(real[:1], of.run(names[:1], inputs)) for of in (ours, other)]
    if is_compared and ty != "int8" and near[0] < near[1] - TOLERANCE:
        faults.append("ONNX Runtime's quantizer is nearer to the float model")
    text = f"{label:28} {len(packed)} products, {same:.1f} dB to strait run, to float {near[0]:.2f} dB (theirs {near[1]:.2f})"
    if arguments.time:
        mine, yours = times(ours, other, inputs, 200 if new == 1 else 40)
        text += f", {mine:.2f} ms (theirs {yours:.2f}, ratio {mine / yours:.3f})"
        if mine / yours > SLOWEST:
            faults.append("slower than ONNX Runtime's")
    print(text, *(f"\n  FAULT: {fault}" for fault in faults), flush=True)
    return not faults


def run_cases(about, cases, compare, flags=()):
    """Compares the cases of a script that the command line names, by all the words that it has, and ends the program."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("strait", "work"):
        parser.add_argument(f"--{option}", type=Path, required=True)
    for flag in flags:
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    named = [case for case in cases if set(arguments.names) <= words_of(case)]
    sys.exit(0 if all([compare(arguments, *case) for case in named]) else 1)


def words_of(case):
    """The words and numbers of a case. Of a part that is a tuple, each is a word."""
    return {str(word) for part in case for word in (part if isinstance(part, tuple) else (part,))}


def main():
    run_cases(__doc__, [(kind, step, form) for kind in ("llama", "gpt2") for step in STEPS for form in FORMS], compare, ["time"])


if __name__ == "__main__":
    main()
