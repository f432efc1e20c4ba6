#!/usr/bin/env python3
"""Write TFLite models of codes that TensorFlow's converter makes of real frozen graphs, with samples. Started by
`cargo xtask oracles --tflite --converted`.

Of each graph: activations of int16 beside weights of int8; int8; int8 between inputs and outputs of uint8; and the older quantization,
where weights, too, are uint8 with a zero point, with ranges of activations that are made up.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

GRAPHS = ["armkws_DS_CNN_S", "armkws_CNN_L"]
CALIBRATION, SAMPLES = 50, 32


def converted(path, words, kind):
    converter = tf.compat.v1.lite.TFLiteConverter.from_frozen_graph(
        str(path), ["Mfcc"], ["labels_softmax"], {"Mfcc": [1, *words.shape[1:]]}
    )
    if kind == "older_uint8":
        converter.inference_type = tf.uint8
        converter.quantized_input_stats = {"Mfcc": (128, 2.0)}
        converter.default_ranges_stats = (-8, 8)
        return converter.convert()
    sets, border = {
        "int16": (tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8, tf.int16),
        "int8": (tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.int8),
        "uint8": (tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.uint8),
    }[kind]
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([word[None]] for word in words[:CALIBRATION])
    converter.target_spec.supported_ops = [sets]
    converter.inference_input_type = converter.inference_output_type = border
    return converter.convert()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shared", type=Path, required=True)
    arguments = parser.parse_args()
    stamp, wanted = arguments.folder / "stamp.txt", "\n".join([tf.__version__, Path(__file__).read_text()])
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    arguments.folder.mkdir(parents=True, exist_ok=True)
    words = np.load(arguments.shared / "tiny" / "armkws_mfcc_f32_eval_x.npy").astype(np.float32)
    for name in GRAPHS:
        for kind in ["int16", "int8", "uint8", "older_uint8"]:
            file = converted(arguments.shared / "models" / f"{name}.pb", words, kind)
            (arguments.folder / f"{name}_{kind}.tflite").write_bytes(file)
            np.save(arguments.folder / f"{name}_{kind}.npy", words[:SAMPLES])
    stamp.write_text(wanted)  # last, so that what was interrupted counts as nothing


if __name__ == "__main__":
    main()
