"""A Q/DQ file in the runtimes that it is made for: ONNX Runtime at its default settings and with optimizations off, and OpenVINO.

`forced` makes a file that has every layer alone, on the codes that our executor has there: a fault of one layer does not hide in
those of the next ones, and is not made larger by them.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import peers
from onnx import helper, numpy_helper

PER_CODE = 1  # steps that a layer may be off, fed with our codes
WIDE = 4  # the same on codes of 16 bits, whose functions a target interpolates: docs/functions.md says how far they are off
DECIBEL_OF_OPTIMIZATION = 1.0  # that the default settings may cost beside none
SAME = 60.0  # decibels beyond which two outputs are the same but for the order of float sums


@dataclass
class Case:
    """An artifact with a Q/DQ file, and samples."""

    name: str
    artifact: object
    feeds: list  # of each sample: inputs as the network takes them, by name
    floats: object  # the float model
    ours: list = None  # of each sample: outputs of the integer executor
    codes: object = None  # where the example `values` wrote our codes
    least: float = None  # decibels from ours


@dataclass
class Found:
    """What was found of a case; figures that were not measured are none."""

    name: str
    layers: int = 0
    of: int = 0
    off: int = None  # steps
    plain: float = None  # decibels from the float model, without optimizations
    default: float = None
    integer: float = None  # decibels of our executor from the float model
    exact: float = None  # decibels from our executor, without optimizations: what other roundings between the grids cost
    ours: float = None  # the same at default settings
    openvino: dict = field(default_factory=dict)  # by precision: decibels from our executor
    faults: list = field(default_factory=list)


def session(model, level):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    options.graph_optimization_level = level
    if not has_vnni():
        # Products of uint8 and int8 saturate in 16 bits there. It refuses files in which layers share weights.
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"])


def has_vnni():
    """True unless the processor is known to be without these instructions."""
    try:
        flags = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    except (OSError, StopIteration):
        return True
    return "vnni" in flags


def decibel(reference, found):
    """Signal to noise of the worst output of floats, over all samples; none without such an output."""
    worst = None
    for position in range(len(reference[0])):
        expected = np.concatenate([np.asarray(outputs[position], np.float64).ravel() for outputs in reference])
        if np.asarray(reference[0][position]).dtype.kind != "f" or not expected.size:
            continue
        noise = expected - np.concatenate([np.asarray(outputs[position], np.float64).ravel() for outputs in found])
        power, noise = float((expected**2).sum()), float((noise**2).sum())
        ratio = np.inf if not noise else (10 * np.log10(power / noise) if power and np.isfinite(noise) else -np.inf)
        worst = ratio if worst is None else min(worst, ratio)
    return worst


def check(case, openvino=None):
    found, file = Found(case.name), case.artifact / "model.qdq.onnx"
    if not file.exists():
        found.faults.append("there is no Q/DQ file")
        return found
    outputs = {}
    for word, level in (("default", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL), ("plain", onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)):
        try:
            runtime = session(file, level)
            outputs[word] = [runtime.run(None, feed) for feed in case.feeds]
        except Exception as error:  # of a class of its own for each fault
            found.faults.append(f"ONNX Runtime, {word}: {str(error).splitlines()[0][:200]}")
    if case.floats is not None:
        network = peers.session(case.floats)
        reference = [network.run(None, feed) for feed in case.feeds]
        found.integer = decibel(reference, case.ours) if case.ours else None
        for word, values in outputs.items():
            setattr(found, word, decibel(reference, values))
    if None not in (found.plain, found.default) and found.default < min(found.plain - DECIBEL_OF_OPTIMIZATION, SAME):
        found.faults.append(f"{found.default:.1f} dB from float at default settings, {found.plain:.1f} without optimizations")
    if case.ours and "plain" in outputs:
        found.exact = decibel(case.ours, outputs["plain"])
    if case.ours and "default" in outputs:
        found.ours = decibel(case.ours, outputs["default"])
        below(found, case, "ONNX Runtime", found.ours)
    if case.codes:
        layers(found, file, case)
    if openvino and case.ours:
        in_openvino(found, case, file, openvino)
    return found


def below(found, case, runtime, decibels):
    """A code that is another one by a step makes others behind it. That may cost as much as quantization does, and no more; of a few
    samples both are known to a decibel."""
    if case.least is None or None in (decibels, found.integer):
        return
    least = min(case.least, found.integer - DECIBEL_OF_OPTIMIZATION)
    if decibels < least:
        found.faults.append(f"{runtime}: {decibels:.1f} dB from our executor, at least {least:.1f}")


def in_openvino(found, case, file, core):
    for precision, settings in (("f32", {"INFERENCE_PRECISION_HINT": "f32"}), ("default", {})):
        try:
            compiled = core.compile_model(str(file), "CPU", settings)
            values = []
            for feed in case.feeds:
                results = compiled(feed)
                values.append([results[output] for output in compiled.outputs])
            found.openvino[precision] = decibel(case.ours, values)
        except Exception as error:
            found.faults.append(f"OpenVINO, {precision}: {str(error).splitlines()[0][:200]}")
    below(found, case, "OpenVINO", found.openvino.get("f32"))


def layers(found, file, case):
    """Holds every layer, fed with our codes, against ours."""
    numbers, samples = np.fromfile(case.codes.with_suffix(".bin"), np.int32), {}
    for sample, name, start, shape in json.loads(case.codes.with_suffix(".json").read_text()):
        samples.setdefault(sample, {})[name] = numbers[start : start + int(np.prod(shape, dtype=np.int64))].reshape(shape)
    model = onnx.load(file)
    found.of = sum(node.op_type == "QuantizeLinear" for node in model.graph.node)
    places = forced(model, samples[0])
    found.layers = len(places)
    if not places:
        return
    try:
        runtime = session(model.SerializeToString(), onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
    except Exception as error:
        found.faults.append(f"ONNX Runtime, layers alone: {str(error).splitlines()[0][:200]}")
        return
    inputs, worst = {one.name for one in runtime.get_inputs()}, {}
    for sample, ours in samples.items():
        codes = {name: place.of(ours[place.value]) for name, place in places.items()}
        feed = {**case.feeds[sample], **{given(name): value for name, value in codes.items()}}
        made = runtime.run(list(codes), {name: value for name, value in feed.items() if name in inputs})
        for (name, expected), value in zip(codes.items(), made, strict=True):
            off = np.abs(value.astype(np.int64) - expected.astype(np.int64)).max(initial=0)
            worst[name] = max(worst.get(name, 0), int(off))
    found.off = max(worst.values())
    beyond = [name for name, off in worst.items() if off > (PER_CODE if places[name].kind.itemsize == 1 else WIDE)]
    if beyond:
        found.faults.append(f"{len(beyond)} layers are off by more than a step, `{max(beyond, key=worst.get)}` by {found.off}")


@dataclass
class Place:
    """The result of a QuantizeLinear whose codes we have."""

    value: str  # its name in the artifact
    zero: int
    kind: np.dtype

    def of(self, ours):
        """Our codes, less their zero point, as those of the file."""
        ends = np.iinfo(self.kind)
        return np.clip(ours.astype(np.int64) + self.zero, ends.min, ends.max).astype(self.kind)


def given(name):
    return f"{name}__given"


def forced(model, ours):
    """Lets everything read the codes that it is given instead of those that QuantizeLinear makes, which become outputs."""
    graph, places = model.graph, {}
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type != "QuantizeLinear" or len(node.input) < 3:
            continue
        base = node.output[0].removesuffix("_quantized")
        value = next((name for name in (base, f"{base}:quantized") if name in ours), None)
        zero = numpy_helper.to_array(constants[node.input[2]])
        if value is not None and zero.ndim == 0 and zero.dtype.kind in "iu":
            places[node.output[0]] = Place(value, int(zero), zero.dtype)
    for node in graph.node:
        node.input[:] = [given(name) if name in places else name for name in node.input]
    del graph.output[:]
    for name, place in places.items():
        kind, shape = helper.np_dtype_to_tensor_dtype(place.kind), ours[place.value].shape
        graph.input.append(helper.make_tensor_value_info(given(name), kind, shape))
        graph.output.append(helper.make_tensor_value_info(name, kind, shape))
    return places
