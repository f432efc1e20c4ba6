#!/usr/bin/env python3
"""Write real frozen graphs with what TensorFlow computes of them. Started by `cargo xtask oracles`.

Two recognise words, from features behind the operators on audio; one makes images larger, and is given the luminance of
photographs.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import tensorflow_cases

WORDS = 16  # samples
PHOTOGRAPHS, ROWS, COLUMNS = 4, 96, 128


def graph(path):
    definition = tf.compat.v1.GraphDef()
    definition.ParseFromString(path.read_bytes())
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
    return graph


def luminance(path):
    """A part of a photograph, from 0 to 1."""
    pixels = tf.io.decode_jpeg(path.read_bytes(), channels=3).numpy()[:ROWS, :COLUMNS].astype(np.float32)
    return (pixels @ np.float32([0.299, 0.587, 0.114]) / np.float32(255))[None, :, :, None]


def models(shared):
    words = np.load(shared / "tiny" / "armkws_mfcc_f32_eval_x.npy")[:WORDS]
    bind = [f"bind Mfcc:0.{axis} {extent}" for axis, extent in [(0, 1), (1, words.shape[1])]]
    for name in ["armkws_CNN_L", "armkws_DS_CNN_S"]:
        for position, sample in enumerate(words):
            yield name, position, "Mfcc:0", sample[None], "labels_softmax:0", bind
    photographs = sorted((shared / "coco" / "eval").glob("*.jpg"))[:PHOTOGRAPHS]
    for position, path in enumerate(photographs):
        pixels = luminance(path)
        bind = [f"bind IteratorGetNext:0.{axis} {extent}" for axis, extent in enumerate(pixels.shape[:3])]
        yield "FSRCNN_x2", position, "IteratorGetNext:0", pixels, "NCHW_output:0", bind


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shared", type=Path, required=True)
    arguments = parser.parse_args()
    with tensorflow_cases.folder(arguments.folder, __file__) as folder:
        if not folder:
            return
        for name, position, begin, value, end, bind in models(arguments.shared):
            path = arguments.shared / "models" / f"{name}.pb"
            (result,) = tensorflow_cases.run(graph(path), {begin: value}, [end])
            settings = [f"begin {begin}", f"end {end}", *bind]
            folder.add(f"{name}_{position}", path.read_bytes(), (0.0, 0.0), None, [value], [result], settings)


if __name__ == "__main__":
    main()
