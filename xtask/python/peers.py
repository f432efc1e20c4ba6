"""ONNX Runtime as the reference and the rival: float outputs, static quantization as its users run it, latency.

    peers.py run MODEL.onnx NAME DATA OUT      outputs of every evaluation set of the model NAME, as OUT/SET.npy
    peers.py quantize MODEL.onnx NAME DATA OUT.onnx [--calibration SET] [--samples N]
"""

import argparse
import logging
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from models import MODELS
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

QDQ_OPSET = 13  # the first with a scale per channel


def session(model, threads=2):
    """A session of a file, or of the bytes of one."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Without VNNI, products of uint8 and int8 saturate in 16 bits on x86-64: figures would depend on the machine.
    options.add_session_config_entry("session.x64quantprecision", "1")
    # Products with weight-only quantization are in float, as the file says; by default activations become 8 bits there.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"])


def outputs(path, model, prepared):
    """The first output for every sample, stacked."""
    network = session(path)
    name = network.get_inputs()[0].name
    return np.stack([network.run(None, {name: x})[0] for x in model.inputs(prepared)])


class Samples(CalibrationDataReader):
    def __init__(self, name, inputs):
        self.name, self.inputs = name, iter(inputs)

    def get_next(self):
        sample = next(self.inputs, None)
        return None if sample is None else {self.name: sample}


def quantize(source, model, calibration, out):
    """uint8 activations, int8 weights per channel, ranges by minimum and maximum: the common choice on a CPU."""
    out = Path(out)
    network = onnx.load(source)
    if network.opset_import[0].version < QDQ_OPSET:
        network = onnx.version_converter.convert_version(network, QDQ_OPSET)
    plain, prepared = out.with_suffix(".plain.onnx"), out.with_suffix(".prepared.onnx")
    onnx.save(network, plain)
    quant_pre_process(str(plain), str(prepared), skip_symbolic_shape=True)
    quantize_static(
        str(prepared),
        str(out),
        Samples(network.graph.input[0].name, model.inputs(calibration)),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=CalibrationMethod.MinMax,
    )
    plain.unlink()
    prepared.unlink()


def main():
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "quantize"])
    parser.add_argument("network", type=Path)
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--calibration", help="another prepared set than the model's own")
    parser.add_argument("--samples", type=int)
    arguments = parser.parse_args()
    model = MODELS[arguments.name]
    if arguments.what == "quantize":
        samples = arguments.data / f"{arguments.calibration or model.calibration}.npy"
        calibration = np.load(samples, mmap_mode="r")[: arguments.samples]
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        quantize(arguments.network, model, calibration, arguments.out)
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, (inputs, _) in model.evaluations.items():
        prepared = np.load(arguments.data / f"{inputs}.npy", mmap_mode="r")
        np.save(arguments.out / f"{name}.npy", outputs(arguments.network, model, prepared))


if __name__ == "__main__":
    main()
