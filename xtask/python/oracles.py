#!/usr/bin/env python3
"""Compare with ONNX Runtime and with stored figures. Started by `cargo xtask oracles`.

For each target of configs/: compile, run the evaluation images by the integer executor, and run the Q/DQ ONNX model of the
same artifact in ONNX Runtime. The two follow the same scales but not the same roundings (Q/DQ computes between its
quantization points in float), so outputs may differ by a step and a few close calls by the class.

What the tests expect of values that saturate on a given grid is what ONNX Runtime computes of the models.

The same with weight-only quantization, of 8 and of 4 bits, with scales by channel and by block: nothing is rounded between them
then, and outputs agree but for the order of float sums.

The deploy model of the target `ascend` is computed with numpy, which must give the very integers of our executor where nothing is
fused, for small networks with average pools, too; each layer of its fake-quantized model runs in ONNX Runtime on the values that it
has there, and is within a code of it; and its record, read back, gives the same integers.

The package of the target `sima` is read back and run with numpy, which must give the very integers of our executor; the
packages of small networks likewise, of the ops that the model in the repository does not have.

Layers that LiteRT and ONNX Runtime ran are recorded: `strait identify` finds their arithmetic, and the kit replays them.

What lies behind a cut runs in ONNX Runtime to the outputs of `strait run`.

The metrics of `[evaluation]` are held against NumPy's formulas, intervals included.

With the real models: our metrics of the float models, and those of `strait`, against the stored figures, which another
program computed.
"""

import argparse
import json
import sys
from pathlib import Path

import ascend_fake_quant
import ascend_package
import ascend_package_ops
import evaluation
import metrics
import numpy as np
import onnx
import peers
import processes
import recorded
import saturation
import score
import sima_package
import sima_package_ops
import tails
from models import MODELS

FLOAT_TOP1 = 98.75  # as models/digits/README.md says
MOST_TOP1_LOSS = 1.0  # points, integer against float
LEAST_SAME_CLASS = 99.0  # percent of the images, integer executor against Q/DQ model
# Configurations that are compiled in other ways besides: weights of uint8 have a zero point.
UNSIGNED = ["quantize.activations.type='uint8'", "quantize.weights.type='uint8'"]
VARIANTS = {"generic-int8": {"weights with a zero point": UNSIGNED}}


# Outputs are floats: another order of sums makes another one of them, by less than this.
WEIGHTS_TOLERANCE = 1e-4
WEIGHTS = [(target, bits, None) for target in ("generic-int8", "ascend") for bits in ("int8", "int4")]
WEIGHTS += [("generic-int8", bits, size) for bits in ("int8", "int4") for size in (16, 32)]
ASCEND_MODELS = ["cifar_resnet20", "mlperf_resnet8", "mlperf_kws", "mobilenet_v1_0.25_224", "mobilenet_v2_1.0_224"]
ASCEND_SAMPLES = 4  # of each of them
METRICS_TOLERANCE = 0.0025  # of the value: on another CPU one close call of 400 may fall the other way


class Report:
    def __init__(self):
        self.failed = False

    def expect(self, good, text):
        print(("ok      " if good else "FAILED  ") + text, flush=True)
        self.failed |= not good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("strait", "repository", "work"):
        parser.add_argument(f"--{option}", type=Path, required=True)
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    report = Report()
    digits(arguments, report)
    saturation.check(report)
    weights(arguments, report)
    package(arguments, report)
    ascend(arguments, report)
    for good, text in sima_package_ops.compared(arguments.strait, arguments.work / "package-ops"):
        report.expect(good, text)
    for good, text in recorded.compared(arguments.strait, arguments.work / "recorded"):
        report.expect(good, text)
    for good, text in evaluation.compared(arguments.strait, arguments.work / "evaluation"):
        report.expect(good, text)
    for good, text in tails.compared(arguments.strait, arguments.work / "tails"):
        report.expect(good, text)
    if arguments.shared:
        real = (arguments.strait, arguments.repository, arguments.data, arguments.shared, arguments.work / "real")
        for good, text in evaluation.real(*real):
            report.expect(good, text)
        stored_figures(arguments, report)
    sys.exit(1 if report.failed else 0)


def digits(arguments, report):
    folder = arguments.repository / "models" / "digits"
    images, labels = np.load(folder / "eval_x.npy"), np.load(folder / "eval_y.npy")
    inputs = (images.astype(np.float32) / 16).transpose(0, 3, 1, 2)

    def top1(outputs):
        return 100 * float((metrics.classes(outputs) == labels).mean())

    float_top1 = top1(run(folder / "digits.onnx", inputs))
    report.expect(float_top1 == FLOAT_TOP1, f"digits in ONNX Runtime: top-1 {float_top1:.2f}, stated {FLOAT_TOP1}")
    configs = sorted((arguments.repository / "configs").glob("*.toml"))
    variants = [(config.stem, config, []) for config in configs]
    variants += [(f"{config.stem}, {name}", config, sets) for config in configs for name, sets in VARIANTS.get(config.stem, {}).items()]
    for target, config, sets in variants:
        work = arguments.work / target.replace(", ", "-")
        artifact, file = work / "artifact", work / "outputs.npy"
        try:
            command = [arguments.strait, "compile", config, "--out", artifact, "--set", 'output.emit=["qdq-onnx"]']
            processes.check([*command, *(word for value in sets for word in ("--set", value))], work / "compile.log")
            command = [arguments.strait, "run", artifact, "--input", folder / "eval_x.npy", "--output", file]
            processes.check(command, work / "run.log")
        except processes.Failed as failed:
            report.expect(False, f"{target}: {failed}")
            continue
        ours = np.load(file)
        loss = float_top1 - top1(ours)
        report.expect(loss <= MOST_TOP1_LOSS, f"{target}: top-1 {top1(ours):.2f}, at most {MOST_TOP1_LOSS} below float")
        models = sorted(artifact.glob("*.onnx"))
        report.expect(len(models) > 0, f"{target}: the artifact holds an ONNX model")
        for model in models:
            theirs = run(model, inputs)
            same = 100 * float((metrics.classes(ours) == metrics.classes(theirs)).mean())
            largest = np.abs(ours.reshape(theirs.shape) - theirs).max()
            text = f"{model.name} in ONNX Runtime has the same class for {same:.2f} %, outputs within {largest:.4f}"
            report.expect(same >= LEAST_SAME_CLASS, f"{target}: {text}")


def weights(arguments, report):
    folder = arguments.repository / "models" / "digits"
    inputs = (np.load(folder / "eval_x.npy").astype(np.float32) / 16).transpose(0, 3, 1, 2)
    for target, bits, block in WEIGHTS:
        work = arguments.work / f"weights-{target}-{bits}-{block or 'channel'}"
        artifact, file = work / "artifact", work / "outputs.npy"
        config = arguments.repository / "configs" / f"{target}.toml"
        settings = ['quantize.activations.type="float32"', f'quantize.weights.type="{bits}"', 'output.emit=["qdq-onnx"]']
        settings += ['quantize.weights.per="block"', f"quantize.weights.block={block}"] if block else []
        name = f"{target}, weights of {bits}" + (f" with scales for {block} inputs" if block else "")
        try:
            command = [arguments.strait, "compile", config, "--out", artifact]
            command += [part for setting in settings for part in ("--set", setting)]
            processes.check(command, work / "compile.log")
            command = [arguments.strait, "run", artifact, "--input", folder / "eval_x.npy", "--output", file]
            processes.check(command, work / "run.log")
        except processes.Failed as failed:
            report.expect(False, f"{name}: {failed}")
            continue
        theirs = run(artifact / "model.qdq.onnx", inputs)
        ours = np.load(file).reshape(theirs.shape)
        same = bool((metrics.classes(ours) == metrics.classes(theirs)).all())
        largest = np.abs(ours - theirs).max()
        text = f"{name} in ONNX Runtime: the same classes: {same}, outputs within {largest:.1e}"
        report.expect(same and largest <= WEIGHTS_TOLERANCE, text)
        if block:
            model = onnx.load(artifact / "model.qdq.onnx")
            sizes = [attribute.i for node in model.graph.node for attribute in node.attribute if attribute.name == "block_size"]
            report.expect(block in sizes, f"{name}: block sizes of the Q/DQ file: {sizes}")


def package(arguments, report):
    folder, work = arguments.repository / "models" / "digits", arguments.work / "package"
    artifact, file = work / "artifact", work / "raw.npy"
    config = arguments.repository / "configs" / "sima.toml"
    try:
        command = [arguments.strait, "compile", config, "--out", artifact]
        processes.check([*command, "--set", 'output.emit=["package", "qdq-onnx"]'], work / "compile.log")
        command = [arguments.strait, "run", artifact, "--raw", "--input", folder / "eval_x.npy", "--output", file]
        processes.check(command, work / "run.log")
    except processes.Failed as failed:
        report.expect(False, f"the package of sima: {failed}")
        return
    root, arrays, _ = sima_package.load(artifact)
    images = np.load(folder / "eval_x.npy").astype(np.float32) / 16
    different = sima_package.differing(root, arrays, images, np.load(file))
    report.expect(different == 0, f"the package of sima in numpy: other integers for {different} of {len(images)} images")
    # The same weights as in the Q/DQ model, whose layout is ONNX's.
    model = onnx.load(artifact / "model.qdq.onnx").graph
    tensors = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.initializer}
    producers = {name: node for node in model.node for name in node.output}
    layers = {node.name: tensors[producers[node.input[1]].input[0]] for node in model.node if node.op_type in ("Conv", "Gemm")}
    ours = dict(sima_package.weights(root, arrays))
    same = [name for name in layers if name in ours and np.array_equal(layers[name], ours[name].reshape(layers[name].shape))]
    report.expect(len(same) == len(layers), f"the package of sima has the weights of {len(same)} of {len(layers)} layers")


def ascend(arguments, report):
    folder, work = arguments.repository / "models" / "digits", arguments.work / "ascend-package"
    config = arguments.repository / "configs" / "ascend.toml"
    inputs = [x.astype(np.float32).transpose(2, 0, 1)[None] / 16 for x in np.load(folder / "eval_x.npy")]
    raw = ascend_package_of(arguments, report, "digits", config, folder / "eval_x.npy", inputs, work)
    if raw is not None:
        record = work / "artifact" / "record.txt"
        keys = ("data", "cache", "labels")
        lines = [line for line in config.read_text().splitlines() if line.split("=")[0].strip() not in keys]
        text = "\n".join(lines).replace("[evaluation]", "").replace("[calibration]", f'[calibration]\nrecord = "{record}"')
        again = work / "again.toml"
        again.write_text(text.replace("../models", str(arguments.repository / "models")))
        other = raw_of(arguments, report, "digits", again, folder / "eval_x.npy", work / "again")
        same = other is not None and np.array_equal(raw, other)
        report.expect(same, f"ascend: the record of digits, read back, gives the same integers: {same}")
    for good, text in ascend_package_ops.compared(arguments.strait, work / "ops"):
        report.expect(good, text)
    if not arguments.shared:
        return
    for name in ASCEND_MODELS:
        model, samples = MODELS[name], work / f"{name}.npy"
        source = next(iter(model.evaluations.values()))[0]
        prepared = np.load(arguments.data / f"{source}.npy", mmap_mode="r")[:ASCEND_SAMPLES]
        samples.parent.mkdir(parents=True, exist_ok=True)
        np.save(samples, prepared)
        config = arguments.repository / "configs" / "models" / f"{name}.toml"
        inputs = seen(arguments, report, name, config, work / f"{name}-seen")
        # What follows the last sums runs in float: the model ends with them.
        cut = [f'model.outputs=["{last_sums(arguments.shared / "models" / model.file)}"]']
        if inputs is not None:
            ascend_package_of(arguments, report, name, config, samples, inputs, work / name, cut)


def seen(arguments, report, name, config, work):
    """The first samples as the network takes them. Preprocessing of our own would be another one in the last place, which decides codes
    where pixels are half way between two."""
    command = [arguments.strait, "samples", config, "--evaluation", "--samples", ASCEND_SAMPLES, "--out", work]
    try:
        processes.check(command, work.parent / f"{work.name}.log")
    except processes.Failed as failed:
        report.expect(False, f"ascend, {name}: {failed}")
        return None
    (file,) = work.glob("*.npy")
    return [sample[None] for sample in np.load(file)]


def last_sums(path):
    """The output of a model's last layer with weights, behind which there are softmax and moves only."""
    graph = onnx.load(path).graph
    producers = {name: node for node in graph.node for name in node.output}
    (output,) = (output.name for output in graph.output)
    while producers[output].op_type in ("Softmax", "Flatten", "Reshape", "Squeeze"):
        output = producers[output].input[0]
    return output


def raw_of(arguments, report, name, config, samples, work, settings=()):
    """The integers in front of the dequantization of the output, where nothing is fused that is not the same."""
    artifact, file = work / "artifact", work / "raw.npy"
    try:
        command = [arguments.strait, "compile", config, "--target", "ascend", "--out", artifact]
        command += [word for setting in ('fusion.accept="exact"', *settings) for word in ("--set", setting)]
        processes.check(command, work / "compile.log")
        command = [arguments.strait, "run", artifact, "--raw", "--input", samples, "--output", file]
        processes.check(command, work / "run.log")
    except processes.Failed as failed:
        report.expect(False, f"ascend, {name}: {failed}")
        return None
    return np.load(file)


def ascend_package_of(arguments, report, name, config, samples, inputs, work, settings=()):
    raw = raw_of(arguments, report, name, config, samples, work, settings)
    if raw is None:
        return None
    count, most = ascend_package.differing(work / "artifact", inputs, raw)
    text = f"other integers for {count} of {len(inputs)} samples, by {most} at most"
    report.expect(count == 0, f"ascend: the deploy model of {name} in numpy: {text}")
    layers = ascend_package.fake_against_deploy(work / "artifact", inputs[:ASCEND_SAMPLES])
    total = ascend_fake_quant.total(layers)
    text = f"{len(layers)} layers; {total}"
    report.expect(total.is_within(), f"ascend: the fake-quantized model of {name} in ONNX Runtime: {text}")
    return raw


def run(path, inputs):
    """The first output for each sample; one sample at a time, as the batch may be bound to one."""
    network = peers.session(path)
    name = network.get_inputs()[0].name
    return np.concatenate([network.run(None, {name: x[None]})[0] for x in inputs])


def stored_figures(arguments, report):
    stored = json.loads((arguments.shared / "results.json").read_text())
    for model in MODELS.values():
        if model.graph:  # there are no figures of these
            continue
        source = arguments.shared / "models" / model.file
        outputs = {
            name: peers.outputs(source, model, np.load(arguments.data / f"{inputs}.npy", mmap_mode="r"))
            for name, (inputs, _) in model.evaluations.items()
        }
        for name, values in score.score(model, arguments.data, outputs).items():
            for metric, value in values.items():
                key = f"{name}_{metric}" if model.kind == "classifier" else metric
                if metric != "samples":
                    expected = stored[model.name]["float"][key]
                    text = f"{model.name}: {key} {value:.4f}, stored {expected:.4f}"
                    report.expect(abs(value - expected) <= METRICS_TOLERANCE * expected, text)


if __name__ == "__main__":
    main()
