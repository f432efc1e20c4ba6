"""Latency of one sample at a time, in turns with other runtimes."""

import importlib.util
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import processes
from speed_figures import of_rounds, skipped

# Ratios to the faster one of the peers.
MARKS = {"mobilenet_v2": 0.95, "resnet50": 1.0, "efficientnet_b0": 0.95, "yolon": 0.95, "deit_tiny": 1.0}
FORMS = {"sima": 1.15, "ascend": 1.15}  # ratios to generic-int8
TINY = {"mlperf_resnet8": 1.0, "mlperf_vww": 1.0, "mlperf_kws": 1.0, "mlperf_ad": 3.0}
CALIBRATION = {"mlperf_resnet8": "cifar10", "mlperf_vww": "vww", "mlperf_kws": "kws", "mlperf_ad": "ad"}
SAMPLES = 32
MANY, SPEEDUP = 10_000, 1.9  # images through ResNet-8, and how much faster two threads are
BLOCK = 0.05  # seconds of one turn
PAUSE = 0.01  # seconds after which threads of another runtime have stopped to spin


def installed(module):
    return importlib.util.find_spec(module) is not None


def quoted(path):
    return "'" + str(path) + "'"


class Ours:
    """An artifact in a process of its own, which runs once for each line."""

    def __init__(self, strait, artifact, threads):
        command = [str(strait), "bench", str(artifact), "--stdin", "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def __call__(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise processes.Failed("strait bench has ended early")
        return float(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(function):
    """A function that runs once and gives the milliseconds."""

    def run():
        start = time.perf_counter()
        function()
        return 1e3 * (time.perf_counter() - start)

    return run


def onnxruntime(path, x, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = {session.get_inputs()[0].name: x}
    return timed(lambda: session.run(None, feeds))


def openvino(path, x, threads):
    import openvino

    hints = {"NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(str(path), "CPU", {"INFERENCE_NUM_THREADS": threads, **hints})
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(x))
    return timed(request.infer)


def litert(path, threads):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path), num_threads=threads)
    interpreter.allocate_tensors()
    return timed(interpreter.invoke)


def in_turns(tools, rounds, seconds):
    """For each round, the median of each tool."""
    counts = {}
    for name, run in tools.items():
        run()
        counts[name] = max(3, min(200, round(BLOCK / (run() / 1e3))))
    found = []
    for _ in range(rounds):
        times = {name: [] for name in tools}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for name, run in tools.items():
                time.sleep(PAUSE)
                run()
                times[name] += [run() for _ in range(counts[name])]
        found.append({name: statistics.median(own) for name, own in times.items()})
    return found


def samples_of(arguments, model):
    """Random samples for a model, as a file, and the shape of one."""
    import onnx

    shape = onnx.load(model, load_external_data=False).graph.input[0].type.tensor_type.shape
    shape = [d.dim_value or 1 for d in shape.dim]
    path = arguments.work / f"{model.stem}.npy"
    if not path.is_file():
        random = np.random.default_rng(0)
        np.save(path, random.standard_normal([SAMPLES, *shape[1:]], dtype=np.float32))
    return path


def configured(model, samples, folder):
    """The arguments with which strait compiles a model to a folder, from nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    command = ["compile", "--model", model, "--calibration", samples, "--out", folder / "artifact"]
    return [*command, "--set", f"calibration.cache={quoted(folder / 'cache')}"]


def compiled(arguments, model, samples, target):
    folder = arguments.work / f"{model.stem}.{target}"
    command = [arguments.strait, *configured(model, samples, folder), "--target", target, "--set", "output.emit=[]"]
    processes.check(command, folder.with_suffix(".log"))
    return folder / "artifact"


def limit(arguments, artifact, threads):
    """Milliseconds that the multiplications alone take at the processor's peak."""
    command = [arguments.strait, "bench", artifact, "--threads", threads, "--seconds", "0.2", "--json"]
    said = processes.report(processes.check(command, arguments.work / "limit.log"))
    return said["multiply_adds"] / said["limit_gmacs"] / 1e6 if said.get("limit_gmacs") else None


def peers_of(arguments, model, samples):
    """Files that peers run, by the name of the peer."""
    made = {}
    for tool, ending in (("onnxruntime", ".onnx"), ("nncf", ".xml")):
        if not installed(tool):
            continue
        out = arguments.work / f"{model.stem}.{tool}{ending}"
        if not out.is_file():
            command = [sys.executable, Path(__file__).parent / "speed_peer.py", tool, model, samples, out]
            processes.check(command, out.with_suffix(".log"))
        made[tool] = out
    if "onnxruntime" not in made:
        skipped("onnxruntime", "it is not installed")
    if not installed("openvino"):
        skipped("OpenVINO", "it is not installed")
    return made


def runs_of(files, x, threads):
    """Sessions of the peers, by name."""
    runs = {}
    if "onnxruntime" in files:
        runs["onnxruntime"] = onnxruntime(files["onnxruntime"], x, threads)
    # OpenVINO runs the Q/DQ file of ONNX Runtime's quantizer in integers too, if its own quantizer is not there.
    file = files.get("nncf", files.get("onnxruntime"))
    if installed("openvino") and file:
        runs["OpenVINO" if "nncf" in files else "OpenVINO (Q/DQ)"] = openvino(file, x, threads)
    return runs


def models(arguments, figures):
    """Five models on one and two threads, and the forms of other targets beside those of generic-int8."""
    for name, mark in MARKS.items():
        model = arguments.models / f"{name}.onnx"
        if arguments.only not in name:
            continue
        if not model.is_file():
            skipped(name, f"there is no {model}")
            continue
        samples = samples_of(arguments, model)
        targets = ["generic-int8", *FORMS]
        artifacts = {target: compiled(arguments, model, samples, target) for target in targets}
        files = peers_of(arguments, model, samples)
        x = np.load(samples)[:1]
        for threads in (1, 2):
            runs = runs_of(files, x, threads)
            ours = {target: Ours(arguments.strait, artifact, threads) for target, artifact in artifacts.items()}
            found = in_turns({**runs, **ours}, arguments.rounds, arguments.seconds)
            for own in ours.values():
                own.close()
            title = f"{name}, {threads} thread{'s' if threads > 1 else ''}"
            least = limit(arguments, artifacts["generic-int8"], threads)
            if runs:
                better = min(runs, key=lambda peer: statistics.median(one[peer] for one in found))
                pairs = [(one["generic-int8"], one[better]) for one in found]
                figures.add(of_rounds(title, "ms", pairs, better, mark=mark, limit=least))
                for other in (peer for peer in runs if peer != better):
                    pairs = [(one["generic-int8"], one[other]) for one in found]
                    figures.add(of_rounds(f"{title}, beside {other}", "ms", pairs, other, limit=least))
            for target, most in FORMS.items():
                pairs = [(one[target], one["generic-int8"]) for one in found]
                figures.add(of_rounds(f"{title}, {target}", "ms", pairs, "generic-int8", mark=most, limit=least))


def tiny(arguments, figures):
    """MLPerf Tiny on one thread beside LiteRT, and many images on two threads."""
    if not (arguments.shared and arguments.data):
        skipped("MLPerf Tiny", "there are no models and data")
        return
    for name, mark in TINY.items():
        if arguments.only not in name:
            continue
        artifact = tiny_artifact(arguments, name)
        least = limit(arguments, artifact, 1)
        if installed("ai_edge_litert"):
            ours = Ours(arguments.strait, artifact, 1)
            peer = litert(arguments.shared / "models" / f"{name}_int8.tflite", 1)
            found = in_turns({"ours": ours, "peer": peer}, arguments.rounds, arguments.seconds / 2)
            ours.close()
            pairs = [(one["ours"], one["peer"]) for one in found]
            figures.add(of_rounds(f"{name}, 1 thread", "ms", pairs, "LiteRT", mark=mark, limit=least))
        else:
            skipped(name, "LiteRT is not installed")
        if name == "mlperf_resnet8":
            figures.add(many(arguments, artifact))


def tiny_artifact(arguments, name):
    folder = arguments.work / name
    shutil.rmtree(folder, ignore_errors=True)
    config = arguments.repository / "configs" / "models" / f"{name}.toml"
    command = [arguments.strait, "compile", config, "--target", "generic-int8", "--out", folder / "artifact"]
    command += ["--calibration", arguments.data / CALIBRATION[name] / "calib_x.npy"]
    if "[evaluation]" in config.read_text():
        command += ["--set", "evaluation.samples=1"]
    command += ["--set", f"calibration.cache={quoted(folder / 'cache')}", "--set", "output.emit=[]"]
    processes.check(command, folder.with_suffix(".log"))
    return folder / "artifact"


def many(arguments, artifact):
    """How much faster two threads are on many images."""
    images = np.load(arguments.data / "cifar10" / "calib_x.npy")
    path = arguments.work / "many.npy"
    np.save(path, np.resize(images, (MANY, *images.shape[1:])))
    rounds = []
    for _ in range(arguments.rounds):
        command = [arguments.strait, "run", artifact, "--input", path, "--output", arguments.work / "many.out.npy"]
        seconds = [processes.check([*command, "--threads", n], arguments.work / "many.log").seconds for n in (1, 2)]
        rounds.append(tuple(seconds))
    title = f"{MANY} images through ResNet-8, 1 : 2 threads"
    return of_rounds(title, "s", rounds, "two threads", mark=SPEEDUP, at_least=True)
