#!/usr/bin/env python3
"""Compile decoders whose weights another quantizer has turned into codes, without samples. Started by `cargo xtask oracles
--operators`.

ONNX Runtime's quantizer writes weights of 4 bits with zero points, or symmetric with scales that may be negative. The file has to
have the quantizer's codes and scales bit for bit, and its outputs are those of the quantizer's file, up to the order of float sums.
"""

from pathlib import Path

import numpy as np
import onnx
import processes
from decoder_graphs import DECODERS, Sizes
from decoder_written import LEAST_SNR, packed_weights, run_cases, session, snr, theirs

CONFIG = """schema = 1
[model]
file = "model.onnx"
[target]
use = ["onnxruntime"]
[quantize]
activations.type = "float32"
[output]
dir = "build"
emit = ["qoperator-onnx"]
"""


def compare(arguments, kind, ty, block):
    label = f"{kind}-given-{ty}-{block}"
    folder = arguments.work / label
    folder.mkdir(parents=True, exist_ok=True)
    model, inputs, _ = DECODERS[kind](7, 8, 0, sizes=Sizes(tied=False))
    given = onnx.load_from_string(theirs(model, ty, block, ty == "int4"))
    onnx.save(given, folder / "model.onnx")
    (folder / "config.toml").write_text(CONFIG)
    processes.check([arguments.strait, "compile", folder / "config.toml"], folder / "compile.log")
    written = onnx.load(folder / "build" / "model.qoperator.onnx")
    before, after = packed_weights(given), packed_weights(written)
    # Names of nodes may change, and bits of weights may not. Zeros have two signs.
    bits = lambda of: sorted((np.asarray(weights, np.float32) + 0.0).tobytes() for weights in of.values())
    negative = sum(scales_below(given, node) for node in given.graph.node)
    same = snr(session(folder / "model.onnx").run(None, inputs), session(folder / "build" / "model.qoperator.onnx").run(None, inputs))
    faults = []
    if bits(before) != bits(after):
        faults.append(f"codes or scales differ, of {len(before)} given and {len(after)} written products")
    if same < LEAST_SNR:
        faults.append("the outputs differ")
    print(f"{label:28} {len(after)} products, {negative} negative scales, {same:.1f} dB", *(f"\n  FAULT: {f}" for f in faults), flush=True)
    return not faults


def scales_below(model, node):
    if node.op_type not in ("MatMulNBits", "GatherBlockQuantized"):
        return 0
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    return int((onnx.numpy_helper.to_array(constants[node.input[2]]) < 0).sum())


def main():
    run_cases(__doc__, [(kind, ty, block) for kind in DECODERS for ty in ("int4", "uint4") for block in (32, 128, 256)], compare)


if __name__ == "__main__":
    main()
