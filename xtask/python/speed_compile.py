"""What compiling costs, beside other quantizers and by itself."""

import math
import os
import shutil
import statistics
import sys
from pathlib import Path

import processes
from speed_figures import Figure, of_rounds, skipped
from speed_latency import configured, installed, quoted, samples_of

# Ratios of time to ONNX Runtime's quantizer, and of memory.
MODELS = {"mobilenet_v2": 0.35, "deit_tiny": 0.35, "resnet50": 0.4}
MEMORY = 0.33
# AI Edge Quantizer reads only TFLite, for which one model is converted; the ratio of time to it.
EDGE = {"mobilenet_v2": 0.6}
# It needs scipy, and where scipy is installed, ONNX Runtime's quantizer takes about 0.3 s longer. So it has a Python of its own.
EDGE_PYTHON = "STRAIT_PYTHON_EDGE"
OBSERVERS = ["minmax", "percentile", "kl"]  # besides the target's own; the marks are for any
TARGET = "generic-int8"
TIMES = 20  # starts of a short command
SHORT, WARM = 10, 150  # milliseconds of a short command, and of compiling MobileNetV2 with kept statistics
# The graphs: nodes, whether there are samples, and the most seconds and megabytes.
GRAPHS = [(100_000, True, 6.0, 1000), (100_000, False, 2.0, None), (1_000_000, False, 22.0, 5000)]
GROWTH = 1.05


def from_nothing(arguments, figures):
    """Three models with 32 samples, in turns with other quantizers."""
    if not installed("onnxruntime"):
        skipped("quantizing", "onnxruntime is not installed")
        return
    edge_python = os.environ.get(EDGE_PYTHON)
    if not edge_python:
        skipped("quantizing beside ai-edge-quantizer", f"{EDGE_PYTHON} names no Python that has it")
    for name, mark in MODELS.items():
        model = arguments.models / f"{name}.onnx"
        if arguments.only not in name or not model.is_file():
            skipped(name, "not asked for" if model.is_file() else f"there is no {model}")
            continue
        samples, costs, theirs, edges = samples_of(arguments, model), {}, [], []
        out, script = arguments.work / f"{name}.peer.onnx", Path(__file__).parent / "speed_peer.py"
        edge = None
        if edge_python and name in EDGE:
            quantized = arguments.work / f"{name}.edge.tflite"
            edge = [edge_python, script, "edge", tflite(arguments, model), samples, quantized]
        for _ in range(rounds(arguments)):
            for observer in ["", *OBSERVERS]:
                costs.setdefault(observer, []).append(once(arguments, model, samples, observer))
            command = [sys.executable, script, "onnxruntime", model, samples, out]
            theirs.append(processes.check(command, out.with_suffix(".log")))
            if edge:
                edges.append(processes.check(edge, arguments.work / f"{name}.edge.log"))
        for observer, ours in costs.items():
            title = f"compile {name}, {observer or 'own observer'}"
            pairs = [(own.seconds, their.seconds) for own, their in zip(ours, theirs)]
            figures.add(of_rounds(title, "s", pairs, "onnxruntime", mark=mark))
            # On a machine that does other things too, processor time is less disturbed.
            pairs = [(own.cpu_seconds, their.cpu_seconds) for own, their in zip(ours, theirs)]
            figures.add(of_rounds(f"{title}, processor time", "s", pairs, "onnxruntime"))
            pairs = [(own.peak_bytes / 1e6, their.peak_bytes / 1e6) for own, their in zip(ours, theirs)]
            figures.add(of_rounds(f"{title}, memory", "MB", pairs, "onnxruntime", mark=MEMORY))
            if edge:
                pairs = [(own.seconds, their.seconds) for own, their in zip(ours, edges)]
                title = f"{title}, beside ai-edge-quantizer"
                figures.add(of_rounds(title, "s", pairs, "ai-edge-quantizer", mark=EDGE[name]))


def tflite(arguments, model):
    """Writes a model as a float TFLite file."""
    import onnx
    import speed_tflite

    file = arguments.work / f"{model.stem}.float.tflite"
    file.write_bytes(speed_tflite.converted(onnx.load(model)))
    return file


def rounds(arguments):
    return min(arguments.rounds, 3)


def once(arguments, model, samples, observer=""):
    folder = arguments.work / f"{model.stem}.compile"
    command = [arguments.strait, *configured(model, samples, folder), "--target", TARGET]
    if observer:
        command += ["--set", f'calibration.observer="{observer}"']
    return processes.check(command, folder.with_suffix(".log"))


def starts(arguments, figures):
    """Short commands, and a compilation for which the statistics are kept."""
    log = arguments.work / "start.log"
    for command in (["--help"], ["targets"]):
        least = min(processes.check([arguments.strait, *command], log).seconds for _ in range(TIMES))
        figures.add(Figure(f"strait {' '.join(command)}", "ms", 1e3 * least, mark=SHORT))
    model = arguments.models / "mobilenet_v2.onnx"
    if not model.is_file():
        skipped("a compilation with kept statistics", f"there is no {model}")
        return
    command = [arguments.strait, *configured(model, samples_of(arguments, model), arguments.work / "warm")]
    command += ["--target", TARGET]
    found = [processes.check(command, log).seconds for _ in range(1 + 2 * arguments.rounds)]
    figures.add(Figure("compile mobilenet_v2, statistics kept", "ms", 1e3 * min(found[1:]), mark=WARM))


def graphs(arguments, figures):
    """Chains of residual blocks on tiny tensors, from the file to the artifact."""
    seconds = {}
    for nodes, has_samples, most_seconds, most_megabytes in GRAPHS:
        model = arguments.graphs / f"chains_{nodes}.onnx"
        found = [graph(arguments, model, has_samples) for _ in range(rounds(arguments))]
        time, memory = (statistics.median(values) for values in zip(*((f.seconds, f.peak_bytes / 1e6) for f in found)))
        title = f"{nodes} nodes{'' if has_samples else ' without data'}"
        figures.add(Figure(title, "s", time, mark=most_seconds))
        figures.add(Figure(f"{title}, memory", "MB", memory, mark=most_megabytes))
        if not has_samples:
            seconds[nodes] = time
    (few, least), (many, most) = sorted(seconds.items())
    exponent = math.log(most / least) / math.log(many / few)
    figures.add(Figure("growth with the nodes, exponent", "", exponent, mark=GROWTH))


def graph(arguments, model, has_samples):
    folder = arguments.work / model.stem
    shutil.rmtree(folder, ignore_errors=True)
    command = [arguments.strait, "compile", "--model", model, "--target", TARGET, "--out", folder / "artifact"]
    if has_samples:
        command += ["--calibration", arguments.graphs / "samples.npy"]
        command += ["--set", f"calibration.cache={quoted(folder / 'cache')}"]
    else:
        # Scales of weights come from the weights.
        write = folder.with_suffix(".toml")
        text = f"schema = 1\n[model]\nfile = {quoted(model)}\n[target]\nuse = ['{TARGET}']\n"
        text += f"[quantize]\nactivations.type = 'float32'\n[output]\ndir = {quoted(folder / 'artifact')}\n"
        write.write_text(text)
        command = [arguments.strait, "compile", write]
    return processes.check(command, folder.with_suffix(".log"))
