"""A quantizer as a process of its own, so that its time and memory can be measured.

    speed_peer.py onnxruntime|nncf MODEL.onnx SAMPLES.npy OUT      samples along the first axis, as the model takes them
"""

import logging
import sys

import numpy as np


class Whole:
    """Samples that need no preparation."""

    @staticmethod
    def inputs(samples):
        return (sample[None] for sample in samples)


def nncf_to_openvino(model, samples, out):
    import nncf
    import openvino

    data = nncf.Dataset([sample[None] for sample in samples])
    is_transformer = "deit" in model
    other = {"model_type": nncf.ModelType.TRANSFORMER} if is_transformer else {}
    openvino.save_model(nncf.quantize(openvino.Core().read_model(model), data, subset_size=len(samples), **other), out)


def main():
    logging.disable(logging.WARNING)
    tool, model, samples, out = sys.argv[1:]
    samples = np.load(samples)
    if tool == "nncf":
        nncf_to_openvino(model, samples, out)
        return
    import peers

    peers.quantize(model, Whole, samples, out)


if __name__ == "__main__":
    main()
