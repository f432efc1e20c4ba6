"""A quantizer as a process of its own, so that its time and memory can be measured.

    speed_peer.py onnxruntime|nncf MODEL.onnx SAMPLES.npy OUT      samples along the first axis, as the model takes them
    speed_peer.py edge MODEL.tflite SAMPLES.npy OUT                the same samples; the model is that of speed_tflite.py
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


def edge_to_tflite(model, samples, out):
    from ai_edge_quantizer import quantizer, recipe

    tool = quantizer.Quantizer(model, recipe.static_wi8_ai8())
    samples = samples.transpose(0, 2, 3, 1)
    observed = tool.calibrate({"serving_default": [{"input": sample[None]} for sample in samples]})
    tool.quantize(observed).export_model(out, overwrite=True)


def main():
    logging.disable(logging.WARNING)
    tool, model, samples, out = sys.argv[1:]
    samples = np.load(samples)
    if tool == "nncf":
        nncf_to_openvino(model, samples, out)
        return
    if tool == "edge":
        edge_to_tflite(model, samples, out)
        return
    import peers

    peers.quantize(model, Whole, samples, out)


if __name__ == "__main__":
    main()
