#!/usr/bin/env python3
"""Convert frozen graphs to ONNX by tf2onnx, with what TensorFlow computes of some samples. Started by `cargo xtask accuracy`.

    tensorflow_to_onnx.py SHARED DATA OUT NAME...      OUT/NAME.onnx and OUT/NAME.npz, once for each version of this
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import tensorflow_cases
import tensorflow_models
import tf2onnx
from models import MODELS

OPERATOR_SET = 13
SAMPLES = 8


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="+", choices=[name for name, model in MODELS.items() if model.graph])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        model, made = MODELS[name], arguments.out / f"{name}.npz"
        stamp, wanted = made.with_suffix(".txt"), f"{tf.__version__} {tf2onnx.__version__}\n{Path(__file__).read_text()}"
        if stamp.is_file() and stamp.read_text() == wanted:
            continue
        begin, end = model.graph
        begin, shape = begin.rstrip("]").split("[")
        path = arguments.shared / "models" / model.file
        definition = tf.compat.v1.GraphDef()
        definition.ParseFromString(path.read_bytes())
        tf2onnx.convert.from_graph_def(
            definition,
            input_names=[begin],
            output_names=[end],
            opset=OPERATOR_SET,
            shape_override={begin: [int(extent) for extent in shape.split(",")]},
            output_path=str(made.with_suffix(".onnx")),
        )
        (inputs, _), *_ = model.evaluations.values()
        samples = list(model.inputs(np.load(arguments.data / f"{inputs}.npy")[:SAMPLES]))
        graph = tensorflow_models.graph(path)
        expected = [tensorflow_cases.run(graph, {begin: sample}, [end])[0] for sample in samples]
        np.savez(made, samples=np.stack(samples), expected=np.stack(expected))
        stamp.write_text(wanted)  # last, so that what was interrupted counts as nothing


if __name__ == "__main__":
    main()
