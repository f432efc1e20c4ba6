#!/usr/bin/env python3
"""What compiling costs, beside ONNX Runtime's static quantization in the same run. Started by `cargo xtask bench`.

Both are whole processes with the same samples, in turns; the fastest and the median round are shown. ONNX Runtime's
process includes the start of Python, as it does for its users.
"""

import argparse
import shutil
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import processes

TARGET = "generic-int8"
FEW, MANY = 32, 500  # samples
MEMORY_BOUND = 1.2  # what MANY samples may take of the memory that FEW take


@dataclass
class Case:
    model: str
    samples: str  # a prepared set that is large enough; its labels do not matter here
    logits: str = ""  # where every observer is tried: a tensor of which only the largest element is read


CASES = [
    Case("mobilenet_v2_1.0_224", "imagenet/eval_x"),
    Case("mlperf_resnet8", "cifar10/eval_jpeg_x", logits="Gemm_1_out"),
]

# Of all activations; the others are for weights, which no sample changes, for small floats, or for logits alone.
OBSERVERS = ["minmax", "moving_average", "percentile", "kl", "mse", "ifmr", "hfmg"]


def observers(case):
    """Observers with the settings that choose them; the target's own comes first."""
    found = {"its own observer": []}
    if case.logits:
        found |= {name: [f'calibration.observer="{name}"'] for name in OBSERVERS}
        found["isotone"] = [f'quantize.rule=[{{ tensors = ["{case.logits}"], observer = "isotone" }}]']
    return found


def compile(arguments, case, samples, settings=()):
    """One compilation from nothing: no artifact and no statistics of an earlier run."""
    folder = arguments.work / case.model
    shutil.rmtree(folder / "ours", ignore_errors=True)
    command = [arguments.strait, "compile", arguments.repository / "configs" / "models" / f"{case.model}.toml", "--json"]
    command += ["--target", TARGET, "--out", folder / "ours" / "artifact"]
    command += ["--calibration", arguments.data / f"{case.samples}.npy", "--set", f"calibration.samples={samples}"]
    command += ["--set", f"calibration.cache={quoted(folder / 'ours' / 'cache')}"]
    for setting in ["evaluation.samples=1", *settings]:  # the rival evaluates nothing
        command += ["--set", setting]
    return processes.check(command, folder / "compile.log")


def rival(arguments, case, samples):
    folder = arguments.work / case.model
    command = [sys.executable, Path(__file__).parent / "peers.py", "quantize"]
    command += [arguments.shared / "models" / f"{case.model}.onnx", case.model, arguments.data, folder / "rival.onnx"]
    command += ["--calibration", case.samples, "--samples", samples]
    return processes.check(command, folder / "rival.log")


def quoted(path):
    """A TOML string."""
    return "'" + str(path) + "'"


def show(name, rounds):
    seconds = [r.seconds for r in rounds]
    cpu = statistics.median(r.cpu_seconds for r in rounds)
    peak = max(r.peak_bytes for r in rounds)
    print(f"  {name:<28} {min(seconds):8.2f} s  median {statistics.median(seconds):7.2f} s  cpu {cpu:7.2f} s  peak {megabytes(peak)}")


def megabytes(count):
    return f"{count / 1e6:8.1f} MB"


def bench(arguments, case):
    print(f"{case.model} for {TARGET}, {arguments.samples} samples, {arguments.rounds} rounds in turns")
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        ours.append(compile(arguments, case, arguments.samples))
        theirs.append(rival(arguments, case, arguments.samples))
    fastest = min(ours, key=lambda r: r.seconds)
    for phase in processes.report(fastest)["phases"]:
        print(f"    {phase['name']:<26} {phase['seconds']:8.3f} s  peak {megabytes(phase['peak_bytes'])}")
    show("strait compile", ours)
    show("onnxruntime quantize_static", theirs)
    print(f"  peak with {FEW} and {MANY} samples, of which the ratio has the mark {MEMORY_BOUND}")
    within = True
    for observer, settings in observers(case).items():
        few, many = (compile(arguments, case, samples, settings).peak_bytes for samples in (FEW, MANY))
        print(f"    {observer:<26} {megabytes(few)} {megabytes(many)}  ratio {many / few:.3f}")
        within &= many <= MEMORY_BOUND * few
    print()
    return within


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("strait", "shared", "data", "repository", "work"):
        parser.add_argument(f"--{option}", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=FEW)
    arguments = parser.parse_args()
    try:
        within = [bench(arguments, case) for case in CASES]
    except processes.Failed as failed:
        sys.exit(f"bench: {failed}")
    sys.exit(0 if all(within) else "bench: memory grows with the number of samples")


if __name__ == "__main__":
    main()
