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
import qdq_misses
from onnx import helper, numpy_helper

SAME = 60.0  # decibels beyond which two outputs are the same but for the order of float sums


@dataclass(frozen=True)
class Mark:
    """What is asked of every file."""

    bound: float
    is_most: bool  # the bound is the most that is accepted, and not the least
    text: str


MARKS = {
    "steps": Mark(1, True, "steps by which a layer is off if it gets the operands of `strait run`"),
    "settings": Mark(1.0, True, "dB by which the SNR is lower at default settings than with optimizations off"),
    "onnxruntime": Mark(30.0, False, "dB of SNR against `strait run`, in ONNX Runtime"),
    "openvino": Mark(30.0, False, "dB of SNR against `strait run`, in OpenVINO with float32"),
}


@dataclass
class Case:
    """An artifact with a Q/DQ file, and samples."""

    name: str
    artifact: object
    feeds: list  # of each sample: inputs as the network takes them, by name
    floats: object  # the float model
    ours: list = None  # of each sample: outputs of the integer executor
    codes: object = None  # where the example `values` wrote our codes
    is_real: bool = False  # a model with real weights and data, of which outputs are held against ours


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
    misses: list = field(default_factory=list)  # that are known

    def hold(self, mark, value, of=""):
        """A fault if the value misses the mark by more than it is known to."""
        mark, miss = MARKS[mark], qdq_misses.of(self.name, mark)
        misses = lambda bound: value > bound if mark.is_most else value < bound  # noqa: E731
        if value is None or not misses(mark.bound):
            return
        slack = 0 if isinstance(value, int) else qdq_misses.SLACK if mark.is_most else -qdq_misses.SLACK
        if miss and not misses(miss.figure + slack):
            self.misses.append((miss, value))
            return
        self.faults.append(f"{value:.4g} {mark.text}{of}, {'at most' if mark.is_most else 'at least'} {mark.bound:g}")


def session(model, level):
    if has_vnni():
        return started(model, level)
    # Products of uint8 and int8 saturate in 16 bits there, unless weights become uint8. ONNX Runtime refuses this for files in
    # which layers share weights or zero points; those run in float between their quantization points, where nothing saturates.
    try:
        return started(model, level, "session.x64quantprecision")
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        return started(model, level, "session.disable_quant_qdq")


def started(model, level, *switched_on):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    options.graph_optimization_level = level
    for switch in switched_on:
        options.add_session_config_entry(switch, "1")
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
    if case.ours and "plain" in outputs:
        found.exact = decibel(case.ours, outputs["plain"])
    if case.ours and "default" in outputs:
        found.ours = decibel(case.ours, outputs["default"])
    # Of a graph of TensorFlow there are no float outputs: the distance from our executor says what the settings cost.
    plain, default = (found.plain, found.default) if case.floats is not None else (found.exact, found.ours)
    if None not in (plain, default):
        found.hold("settings", min(plain, SAME) - min(default, SAME))
    if case.is_real:
        found.hold("onnxruntime", found.ours)
    if case.codes:
        layers(found, file, case)
    if openvino and case.ours:
        in_openvino(found, case, file, openvino)
    return found


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
    # Without VNNI, sums of two products saturate in OpenVINO, and no option prevents it. The figure then says nothing.
    if case.is_real and has_vnni():
        found.hold("openvino", found.openvino.get("f32"))


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
    found.hold("steps", found.off, f", at `{max(worst, key=worst.get)}`")


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
    makers = {name: node.name for node in graph.node for name in node.output}
    for node in graph.node:
        if node.op_type != "QuantizeLinear" or len(node.input) < 3:
            continue
        base = node.output[0].removesuffix("_quantized")
        # Of a layer whose sums are narrowed twice, the codes of 8 bits have the name of the layer.
        names = (base, f"{base}:quantized", f"{makers.get(node.input[0])}:requantize-i8")
        value = next((name for name in names if name in ours), None)
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
