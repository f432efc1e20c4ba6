#!/usr/bin/env python3
"""Hold the Q/DQ files that we write against ONNX Runtime and OpenVINO. Started by `cargo xtask oracles`.

* Every file loads at default settings.
* Every quantized tensor of it, fed with our codes, is within a step of ours.
* At default settings the outputs are no more than 1 dB further from the float model than without optimizations.
* Of the real models, the outputs are within 30 dB of those of `strait run` in ONNX Runtime, and in OpenVINO where it computes with
  float32; what its default, bfloat16 on machines that have it, makes of them is shown beside it.

qdq_misses.py lists the files that are known to miss one of these, by how much, and why.

The files are those of the model in the repository, of the graphs below tests/rows, of a softmax on a very fine grid, and, where
they are, of the real models for every target: a few of them, or all with --all. With --zoo, those of the architectures of
`shared/zoo`.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import figures
import numpy as np
import onnxruntime
import processes
import qdq
import qdq_faults
import qdq_flat
import qdq_table
import qdq_zoo
from models import MODELS

TARGETS = ["generic-int8", "sima", "ascend"]
FEW = ["mlperf_kws", "mlperf_resnet8", "mlperf_ad"]  # small ones, of each of which all targets take a moment
SAMPLES = 32  # of few, two figures differ by a decibel or two by chance
ALONE = 4  # samples of which layers are held alone
CALIBRATED = 8  # samples of a graph of tests/rows


class Maker:
    """Compiles and runs, each artifact in a folder of its own."""

    def __init__(self, arguments):
        self.arguments = arguments

    def later(self, *what):
        return partial(self.case, *what)

    def case(self, compile, files, floats, feeds, is_real, name):
        """The case of an artifact that `compile` makes; `files` are the stored samples by input. `feeds` may be a function of the file."""
        work = self.arguments.work / name.replace(", ", "-").replace(" ", "-")
        artifact = work / "artifact"
        processes.check([self.arguments.strait, "compile", *compile, "--out", artifact, "--threads", 1], work / "compile.log")
        inputs = [part for key, file in files.items() for part in ("--input", f"{key}={file}" if key else file)]
        processes.check([self.arguments.strait, "run", artifact, *inputs, "--output", f"{work / 'outputs'}/"], work / "run.log")
        codes = work / "codes" if self.arguments.values else None
        if codes:
            processes.check([self.arguments.values, artifact, ALONE, codes, *inputs[1::2]], work / "values.log")
        if callable(feeds):
            feeds = feeds(artifact / "model.qdq.onnx")
        outputs = [np.load(file) for file in sorted((work / "outputs").glob("*.npy"))]
        ours = [[values[sample] for values in outputs] for sample in range(len(feeds))]
        return qdq.Case(name, artifact, feeds, floats, ours, codes, is_real)


def digits(maker):
    folder = maker.arguments.repository / "models" / "digits"
    images = np.load(folder / "eval_x.npy")[:SAMPLES]
    stored = maker.arguments.work / "digits.npy"
    np.save(stored, images)
    (one,) = onnxruntime.InferenceSession(str(folder / "digits.onnx")).get_inputs()
    feeds = [{one.name: (image.astype(np.float32) / 16).transpose(2, 0, 1)[None]} for image in images]
    for target in TARGETS:
        config = maker.arguments.repository / "configs" / f"{target}.toml"
        compile = [config, "--set", 'output.emit=["qdq-onnx"]']
        yield f"digits, {target}", maker.later(compile, {"": stored}, folder / "digits.onnx", feeds, True)


def rows(maker):
    """The graphs by which every row of a table computes something; without those that name values in their head."""
    for target in TARGETS:
        for file in sorted((maker.arguments.repository / "tests" / "rows" / target).glob("*.strait")):
            text = file.read_text().split("; fires")[0]
            head = dict(line[2:].split(": ", 1) for line in text.splitlines() if line.startswith("; ") and ": " in line)
            types = dict(word.split("=") for word in head.get("types", "").split() if "=" in word)
            if "options" in head or not set(types) <= {"type", "weights"}:
                continue
            yield f"rows, {target}, {file.stem}", partial(row, maker, target, file, head, types)


def row(maker, target, file, head, types, name):
    work = maker.arguments.work / "rows" / target / file.stem
    work.mkdir(parents=True, exist_ok=True)
    model = work / "model.onnx"
    processes.check([maker.arguments.rewrite, file, model], work / "rewrite.log")
    random, feeds, stored = np.random.default_rng(0), [{} for _ in range(CALIBRATED)], {}
    calibration = {}
    for one in onnxruntime.InferenceSession(str(model)).get_inputs():
        # A first extent of 1 is that of the samples.
        extents = one.shape[1:] if one.shape[:1] == [1] else one.shape
        values = random.uniform(-1, 1, (CALIBRATED, *extents)) * float(head.get("scale", 1))
        calibration[one.name] = values.astype(np.float32)
        stored[one.name] = work / f"{one.name}.npy"
        np.save(stored[one.name], calibration[one.name])
        for feed, sample in zip(feeds, calibration[one.name]):
            feed[one.name] = sample.reshape(one.shape)
    np.savez(work / "calibration.npz", **calibration)
    compile = ["--model", model, "--calibration", work / "calibration.npz", "--target", target, "--set", 'output.emit=["qdq-onnx"]']
    keys = {"type": "quantize.activations.type", "weights": "quantize.weights.type"}
    compile += [part for key, value in types.items() for part in ("--set", f"{keys[key]}='{value}'")]
    return maker.case(compile, stored, model, feeds, False, name)


def real(maker):
    arguments = maker.arguments
    for name in MODELS if arguments.all else FEW:
        for target in TARGETS:
            yield f"{name}, {target}", partial(real_case, maker, MODELS[name], target)


def real_case(maker, model, target, name):
    arguments, work = maker.arguments, maker.arguments.work / model.name
    own = arguments.repository / "configs" / "models" / f"{model.name}-{target}.toml"
    config = own if own.exists() else own.with_name(f"{model.name}.toml")
    work.mkdir(parents=True, exist_ok=True)
    # Samples that ranges were not found on, where the configuration knows some.
    has_others = "[evaluation]" in config.read_text()
    source = next(iter(model.evaluations.values()))[0] if has_others else model.calibration
    # Cases of one model run beside each other.
    stored = work / f"samples-{target}.npy"
    if not stored.exists():
        np.save(stored, np.load(arguments.data / f"{source}.npy", mmap_mode="r")[:SAMPLES])
    samples = np.load(stored)
    if "[preprocess]" in config.read_text():
        # Preprocessing of our own would be another one in the last place, which decides codes where pixels are half way between two.
        seen = work / f"seen-{target}"
        command = [arguments.strait, "samples", config, "--samples", SAMPLES, "--out", seen]
        command += ["--evaluation"] if has_others else []
        processes.check(command, work / "samples.log")
        (file,) = seen.glob("*.npy")
        samples = np.load(file)
    floats = None if model.graph else arguments.shared / "models" / model.file
    feeds = partial(fed, samples) if model.graph else fed(samples, floats)
    compile = [config, "--target", target, "--set", 'output.emit=["qdq-onnx"]']
    compile += ["--set", "evaluation.samples=1"] if has_others else []
    return maker.case(compile, {"": stored}, floats, feeds, True, name)


def fed(samples, file):
    """Each sample as the one input of the file takes it."""
    (one,) = onnxruntime.InferenceSession(str(file)).get_inputs()
    return [{one.name: sample if len(one.shape) == sample.ndim else sample[None]} for sample in samples]


def openvino_core():
    try:
        import openvino
    except ImportError:
        return None
    return openvino.Core()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("strait", "rewrite", "repository", "work"):
        parser.add_argument(f"--{option}", type=Path, required=True)
    parser.add_argument("--values", type=Path, help="the example that writes our codes; without it no layer is held alone")
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--all", action="store_true", help="all real models")
    parser.add_argument("--zoo", type=Path, help="the architectures of this folder")
    parser.add_argument("--document", type=Path, help="where the page of the results goes")
    parser.add_argument("--only", help="cases whose name contains this")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    maker, core = Maker(arguments), openvino_core()
    if core is None:
        print("skipped: OpenVINO, which is not installed")
    if arguments.zoo:
        cases = qdq_zoo.cases(maker, arguments.zoo)
    else:
        cases = [*digits(maker), *rows(maker), *qdq_flat.cases(maker), *(real(maker) if arguments.shared else [])]
    cases = [(name, make) for name, make in cases if not arguments.only or arguments.only in name]
    found = []
    with ThreadPoolExecutor(2) as pool:
        for made in pool.map(attempt, cases):
            if isinstance(made, qdq.Case):
                made = qdq.check(made, core if made.is_real or arguments.zoo else None)
            found.append(made)
            if made.off is not None:
                figures.record("Q/DQ ONNX", "onnxruntime, layer by layer", made.name, f"{made.off} steps at most, {made.layers} of {made.of} layers")
            print(qdq_table.line(made), flush=True)
    if arguments.document:
        arguments.document.write_text(qdq_table.document(found, core))
    failed = [one for one in found if one.faults]
    print(f"{len(found)} Q/DQ files, {len(failed)} with faults", flush=True)
    for fault in qdq_faults.fixed():
        failed.append(fault)
        print(f"FAILED  this is no fault any more: {fault}")
    sys.exit(1 if failed else 0)


def attempt(case):
    """The case, or that there is none."""
    name, make = case
    try:
        return make(name)
    except processes.Failed as failed:
        return qdq.Found(name, faults=[str(failed)])


if __name__ == "__main__":
    main()
