#!/usr/bin/env python3
"""Write the accuracy table: every model for every target, beside float and ONNX Runtime.

Started by `cargo xtask accuracy`.
"""

import argparse
import sys
from pathlib import Path

import accuracy_variants as variants
import numpy as np
import peers
import processes
import score
from accuracy_table import HELD_TO_MARKS, RIVAL, WRITTEN, Row, document
from models import MODELS
from weight_only import weight_only

LEAST_DECIBEL = 70  # of what an ONNX file computes of a TensorFlow graph
TARGETS = ["generic-int8", "onnxruntime", "sima", "ascend"]


def network_outputs(arguments, model, network):
    """Outputs of a network under ONNX Runtime for every evaluation set."""
    sets = {name: arguments.data / f"{inputs}.npy" for name, (inputs, _) in model.evaluations.items()}
    return {name: peers.outputs(network, model, np.load(file, mmap_mode="r")) for name, file in sets.items()}


def reference_outputs(model, source, data, folder):
    """Outputs of a network under ONNX Runtime for every evaluation set; kept, as neither model nor data change."""
    folder.mkdir(parents=True, exist_ok=True)
    result = {}
    for name, (inputs, _) in model.evaluations.items():
        file = folder / f"{name}.npy"
        if not file.exists():
            prepared = np.load(data / f"{inputs}.npy", mmap_mode="r")
            np.save(file, peers.outputs(source, model, prepared))
        result[name] = np.load(file)
    return result


def rival(model, source, data, folder):
    """ONNX Runtime's own quantization of the model."""
    quantized = written(folder)
    if not quantized.exists():
        quantized.parent.mkdir(parents=True, exist_ok=True)
        peers.quantize(source, model, np.load(data / f"{model.calibration}.npy", mmap_mode="r"), quantized)
    return reference_outputs(model, quantized, data, quantized.parent)


def written(folder):
    """The file that ONNX Runtime's own quantization wrote."""
    return folder / "rival" / "quantized.onnx"


def integers(folder):
    """What decides the integers of an artifact."""
    return (folder / "artifact" / "model.strait").read_bytes()


def config_named(arguments, name):
    return arguments.repository / "configs" / "models" / f"{name}.toml"


def config_of(arguments, model, target):
    """The model's configuration, or one of its own for the target where there is one."""
    own = config_named(arguments, f"{model.name}-{target}")
    return own if own.exists() else config_named(arguments, model.name)


def our_outputs(arguments, model, target, folder, settings=(), known=None, config=None):
    """Compiles and runs; what it writes is made anew each time. Nothing where the folder `known` has the same integers."""
    artifact = folder / "artifact"
    config = config or config_of(arguments, model, target)
    compile = [arguments.strait, "compile", config, "--target", target, "--out", artifact, *settings]
    if "[evaluation]" in config.read_text():
        # Scored here, from the outputs: the configuration's own evaluation would take as long again.
        compile += ["--set", "evaluation.samples=1"]
    processes.check(compile, folder / "compile.log")
    if known and integers(known) == integers(folder):
        return None
    result = {}
    for name, (inputs, _) in model.evaluations.items():
        file = folder / f"{name}.npy"
        run = [arguments.strait, "run", artifact, "--input", arguments.data / f"{inputs}.npy", "--output", file]
        processes.check(run, folder / f"run-{name}.log")
        result[name] = np.load(file)
    return result


def check_twin(network, computed):
    """Holds the ONNX file of a TensorFlow graph against what TensorFlow computes."""
    session, found = peers.session(network), []
    with np.load(computed) as arrays:
        samples, expected = arrays["samples"], arrays["expected"].astype(np.float64)
    for sample in samples:
        found.append(session.run(None, {session.get_inputs()[0].name: sample})[0])
    noise = ((np.stack(found) - expected) ** 2).sum()
    if noise and 10 * np.log10((expected**2).sum() / noise) < LEAST_DECIBEL:
        raise SystemExit(f"{network} gives something else than TensorFlow")


def measure(arguments, model):
    """The rows of one model: one per evaluation set."""
    source = arguments.twins / f"{model.name}.onnx" if model.graph else arguments.shared / "models" / model.file
    if model.graph:
        check_twin(source, source.with_suffix(".npz"))
    folder = arguments.work / model.name
    reference = reference_outputs(model, source, arguments.data, folder / "float")
    peer = rival(model, source, arguments.data, folder)
    scores = {
        "float": score.score(model, arguments.data, reference),
        RIVAL: score.score(model, arguments.data, peer, reference),
    }
    failures, varied, plain = {}, {}, {}
    if HELD_TO_MARKS in arguments.targets:
        # Cuts and extents of a frozen graph are none of the file.
        assigned = "model={{ file = '{}' }}" if model.graph else "model.file='{}'"
        settings = ["--set", assigned.format(written(folder))]
        try:
            outputs = our_outputs(arguments, model, HELD_TO_MARKS, folder / "of onnxruntime's file", settings)
            scores[WRITTEN] = score.score(model, arguments.data, outputs, reference, peer)
        except processes.Failed as failed:
            failures[WRITTEN] = str(failed)
        print(f"{model.name} {WRITTEN}: {scores.get(WRITTEN) or failures[WRITTEN]}", file=sys.stderr, flush=True)
    for target in arguments.targets:
        try:
            outputs = plain[target] = our_outputs(arguments, model, target, folder / target)
            scores[target] = score.score(model, arguments.data, outputs, reference, peer)
        except processes.Failed as failed:
            failures[target] = str(failed)
        print(f"{model.name} {target}: {scores.get(target) or failures[target]}", file=sys.stderr, flush=True)
    for group in variants.ALL:
        if group.target not in scores:
            continue
        base = folder / group.target
        for variant, change in group.columns.items():
            own = config_named(arguments, model.name + change) if isinstance(change, str) else None
            if own and not own.exists():
                continue
            place = folder / f"{group.target} {variant}"
            settings = () if own else variants.settings(change)
            try:
                outputs = our_outputs(arguments, model, group.target, place, settings, base, own)
                varied[variant] = outputs and score.score(model, arguments.data, outputs, reference, plain[group.target])
            except processes.Failed as failed:
                failures[variant] = str(failed)
            if variant == group.weight_only and variant not in failures:
                network = place / "weight_only.onnx"
                weight_only(place / "artifact" / "model.qdq.onnx", network)
                outputs = network_outputs(arguments, model, network)
                varied[variants.WEIGHT_ONLY] = score.score(model, arguments.data, outputs, reference, plain[group.target])
            print(f"{model.name} {variant}: {varied.get(variant) or failures.get(variant, 'the same')}", file=sys.stderr, flush=True)

    def of(name, scores):
        return {key: value and value[name] for key, value in scores.items()}

    for name in model.evaluations:
        yield Row(model.name, model.kind, name, of(name, scores), failures, of(name, varied))


def main():
    def names(text):
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("strait", "shared", "data", "repository", "work", "twins"):
        parser.add_argument(f"--{option}", type=Path, required=True)
    parser.add_argument("--models", type=names, default=list(MODELS))
    parser.add_argument("--targets", type=names, default=TARGETS)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    for chosen, known in ((arguments.models, MODELS), (arguments.targets, TARGETS)):
        for name in chosen:
            if name not in known:
                parser.error(f"{name}: not one of {', '.join(known)}")
    whole = set(arguments.models) == set(MODELS) and set(arguments.targets) == set(TARGETS)
    out = arguments.out or (arguments.repository / "docs" / "accuracy.md" if whole else None)

    rows = [row for name in arguments.models for row in measure(arguments, MODELS[name])]
    text, problems = document(rows, arguments.targets)
    if out is None:
        print(text)
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)
        print(f"wrote {out}")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
