#!/usr/bin/env python3
"""Write small decoders with what ONNX Runtime computes of them. Started by `cargo xtask oracles`.

Each decoder is written in two styles (`decoder_graphs.py`), and for two steps: the first, without a past, and one that adds one
token to a past.
"""

import argparse
from pathlib import Path

import cases
import decoder_graphs
import onnx
import onnxruntime
from decoder_graphs import DECODERS
from onnx import numpy_helper

TOLERANCES = (1e-5, 5e-5)  # logits reach 15, and sums in another order differ


def write(folder):
    for seed, (name, decoder) in enumerate(DECODERS.items()):
        for style, own in (("standard", False), ("runtime", True)):
            for step, count, past in (("prefill", 16, 0), ("decode", 1, 16)):
                model, given, found = decoder(seed, count, past, own)
                given, found = ([numpy_helper.from_array(value) for value in values] for values in (given.values(), found))
                folder.add(f"{name}_{style}_{step}", model, TOLERANCES, None, given, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    with cases.folder(parser.parse_args().folder, (__file__, decoder_graphs.__file__), onnx, onnxruntime) as folder:
        if folder:
            write(folder)


if __name__ == "__main__":
    main()
