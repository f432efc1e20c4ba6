#!/usr/bin/env python3
"""Hand the TFLite files that we write to programs for microcontrollers. Started by `cargo xtask oracles --devices`.

TFLite Micro runs the files of the models of MLPerf Tiny: outputs that differ from those of `strait run` are counted. Vela, Arm's
compiler for Ethos-U, takes the files of all models: it has to place each operator where our rules say. `--planted` does the same with
files of one operator each, on both sides of each constraint of the accelerators. Our estimates of cycles have to be near Vela's.
"""

import argparse
import csv
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import figures
import numpy as np
import processes
from accelerator_cases import cases
from models import MODELS
from tflite_micro import runtime
from tflite_written import dequantized, fed

FEW = ["mlperf_resnet8", "mlperf_kws", "mlperf_ad"]
MANY = 200  # samples of which TFLite Micro computes the outputs
VERDICTS = "TFLite, verdicts by operator"
LEAST_SNR = 30  # of these outputs against ours, in decibels
MACHINES = {"ethos-u55": "ethos-u55-128", "ethos-u85": "ethos-u85-256"}
BORDERS = 'output.target.generic-int8={{ layout = "NHWC", inputs = "int8", outputs = "{}" }}'
MOST_OFF = 0.3  # of our estimate of a network's cycles from Vela's
LEFT = re.compile(r"Warning \(supported operators\) operator: (\w+), ofm: '([^']*)'")


def written(arguments, model):
    """The file of a model, and the samples and outputs of `strait run`."""
    work = arguments.work / model.name
    work.mkdir(parents=True, exist_ok=True)
    config, folder = arguments.repository / "configs" / "models" / f"{model.name}.toml", work / "build"
    set_ = ["--set", 'output.emit=["tflite"]', "--target", "generic-int8", "--out", folder]
    # A softmax over more than 511 classes has results of 16 bits: LiteRT aborts if a sum of exponentials reaches 512.
    *first, last = ["int8", "int16", "float"]
    for outputs in first:
        try:
            borders = ["--set", BORDERS.format(outputs)]
            processes.check([arguments.strait, "compile", config, *set_, *borders], work / "compile.log")
            return work, folder / "model.tflite"
        except processes.Failed:
            continue
    processes.check([arguments.strait, "compile", config, *set_, "--set", BORDERS.format(last)], work / "compile.log")
    return work, folder / "model.tflite"


def ours(arguments, model, work):
    """What the network sees of the first samples, and the outputs for them."""
    data, _ = next(iter(model.evaluations.values()))
    stored = np.load(arguments.data / f"{data}.npy", mmap_mode="r")[:MANY]
    np.save(work / "x.npy", np.ascontiguousarray(stored))
    run = [arguments.strait, "run", work / "build", "--input", work / "x.npy", "--output", work / "outputs.npy"]
    processes.check(run, work / "run.log")
    outputs = np.load(work / "outputs.npy")
    config, count = arguments.repository / "configs" / "models" / f"{model.name}.toml", ["--evaluation", "--samples", MANY]
    if "[evaluation]" not in config.read_text():
        return model.inputs(stored), outputs
    processes.check([arguments.strait, "samples", config, *count, "--out", work / "seen"], work / "samples.log")
    return np.load(next((work / "seen").glob("*.npy")), mmap_mode="r"), outputs


def detail_of(micro):
    """What TFLite Micro says of an input or output, as LiteRT says it."""
    grid = micro["quantization_parameters"]
    return micro | {"quantization": (grid["scales"][0], grid["zero_points"][0])}


def micro(file, feeds, outputs):
    """Counts outputs of TFLite Micro that differ from ours, and their signal-to-noise ratio in decibels."""
    interpreter = runtime.Interpreter.from_file(str(file))
    given, made = detail_of(interpreter.get_input_details(0)), detail_of(interpreter.get_output_details(0))
    differing = elements = signal = noise = 0.0
    for feed, own in zip(feeds, outputs, strict=False):  # more samples are seen than run
        interpreter.set_input(fed(feed, given, True), 0)
        interpreter.invoke()
        off = dequantized(interpreter.get_output(0), made).ravel().astype(np.float64) - own.ravel()
        differing, elements = differing + (off != 0).sum(), elements + off.size
        signal, noise = signal + (own.astype(np.float64) ** 2).sum(), noise + (off**2).sum()
    return int(differing), int(elements), 10 * np.log10(signal / noise) if noise else np.inf


def placed(file, accelerator, work):
    """The results of the operators that Vela leaves to the CPU, and its cycles. `None` if Vela does not compile the file."""
    out = work / f"vela-{accelerator}"
    command = [Path(sys.executable).parent / "vela", file, "--accelerator-config", MACHINES[accelerator], "--show-cpu-operations", "--verbose-performance"]
    done = subprocess.run([*command, "--output-dir", out], capture_output=True, text=True, timeout=600)
    if done.returncode or "CPU operators" not in done.stdout:
        return None
    left = {name for _, name in LEFT.findall(done.stdout + done.stderr)}
    # An operator whose reason Vela does not print is only in its list of operators on the CPU.
    listed = re.findall(r"CPU: Passthrough = (\S+)", done.stdout)
    layers = out / f"{Path(file).stem}_per-layer.csv"
    cycles = 0.0
    if layers.exists():
        with layers.open() as lines:
            cycles = sum(float(layer["Op Cycles"]) for layer in csv.DictReader(lines))
    return left | set(listed), cycles


def verdicts(arguments, files):
    """By file and accelerator: the results of the operators that our rules leave to the CPU, how many operators there are, and our
    estimate of the cycles."""
    out = subprocess.run([arguments.verdicts, *files], capture_output=True, text=True, check=True).stdout
    left, counts, cycles = {}, {}, {}
    for line in out.splitlines():
        file, accelerator, _, result, why, own = line.split("\t")
        left.setdefault((file, accelerator), set()).update([result] if why else [])
        counts[file, accelerator] = counts.get((file, accelerator), 0) + 1
        cycles[file, accelerator] = cycles.get((file, accelerator), 0) + int(own or 0)
    return left, counts, cycles


def estimated(name, own, theirs):
    """Compares estimates of a network's cycles. True if they are near each other."""
    ratio = own / theirs
    print(f"{name}: we estimate {own} cycles, Vela {theirs:.0f}: {ratio:.2f} of it")
    figures.record("TFLite, cycles on ethos-u55-128", "Vela", name, f"{ratio:.2f} of Vela's")
    return abs(ratio - 1) <= MOST_OFF


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("strait", "verdicts"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("work", "data", "repository"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--all", action="store_true", help="all models, and the planted files")
    arguments = parser.parse_args()
    wrong, files = 0, {}
    micro_version, vela_version = version("tflite-micro"), version("ethos-u-vela")
    for model in MODELS.values():
        if model.name not in FEW and not arguments.all:
            continue
        try:
            work, file = written(arguments, model)
            files[str(file)] = (model.name, work)
            if model.name.startswith("mlperf"):
                differing, elements, snr = micro(file, *ours(arguments, model, work))
                print(f"{model.name}: TFLite Micro {micro_version}: {differing} of {elements} outputs differ, {snr:.1f} dB")
                figures.record("TFLite, int8 inputs and outputs", "TFLite Micro", model.name, figures.counted(differing, elements, f"{snr:.1f} dB"))
                wrong += snr < LEAST_SNR
        except processes.Failed as error:
            print(f"WRONG   {model.name}: {error}")
            wrong += 1
    if arguments.all:
        planted = arguments.work / "planted"
        planted.mkdir(parents=True, exist_ok=True)
        for index, (name, content) in enumerate(cases()):
            file = planted / f"{index}.tflite"
            file.write_bytes(content)
            files[str(file)] = (name, planted / str(index))
    left, counts, cycles = verdicts(arguments, list(files))
    with ThreadPoolExecutor(2) as pool:
        theirs = list(pool.map(lambda key: placed(key[0], key[1], files[key[0]][1]), left))
    equal = refused = 0
    for key, other in zip(left, theirs, strict=True):
        name, _ = files[key[0]]
        is_planted = counts[key] == 1
        if other is None:
            # Vela 5.2 fails on some operators that its own list has.
            refused += 1
            wrong += not is_planted
            print(f"{'        ' if is_planted else 'WRONG   '}{name}: Vela does not compile it for {key[1]}")
            continue
        other, of_vela = other
        if not is_planted and cycles[key] and of_vela and not estimated(name, cycles[key], of_vela):
            print(f"WRONG   {name}: our estimate is too far from Vela's")
            wrong += 1
        if bool(other) != bool(left[key]) if is_planted else other != left[key]:
            wrong += 1
            if not is_planted:
                figures.record(VERDICTS, f"Vela, {key[1]}", name, figures.counted(len(set(other) ^ set(left[key])), counts[key]))
            print(f"WRONG   {name}, {key[1]}: Vela leaves {sorted(other)} to the CPU, our rules {sorted(left[key])}")
        elif is_planted:
            equal += 1
        else:
            figures.record(VERDICTS, f"Vela, {key[1]}", name, figures.counted(0, counts[key]))
            print(f"{name}: Vela {vela_version} takes {counts[key] - len(other)} of {counts[key]} operators for {key[1]}, as our rules say")
    if arguments.all:
        print(f"planted files: {equal} verdicts are Vela's, {refused} files it does not compile")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
