#!/usr/bin/env python3
"""Metrics of `strait` beside NumPy's:  used by oracles.py

A model whose float outputs are its inputs shows every metric known numbers: what the report says of the float model is
held against the formula of each metric, and its intervals against the same draws or the same formula.

With the real models: the float figures of `strait` against the stored ones, which another program computed.
"""

import json
import sys
from pathlib import Path

import metrics
import numpy as np
import onnx
import processes
from onnx import TensorProto, helper, numpy_helper

SAMPLES, CLASSES, SIDE = 60, 7, 8
TOLERANCE = 1e-6  # of figures from 0 to 100
REAL_TOLERANCE = 0.0025  # of the value: another order of sums may turn a close call


def inputs(seed=5):
    """Scores of seven classes at eight by eight pixels, scores of seven classes, one score with ties, and labels."""
    random = np.random.default_rng(seed)
    rank = random.standard_normal((SAMPLES, 1, 1)).astype(np.float32)
    rank[30:] = rank[:30]
    return {
        "pixels": random.standard_normal((SAMPLES, CLASSES, SIDE, SIDE)).astype(np.float32),
        "scores": random.standard_normal((SAMPLES, CLASSES, 1)).astype(np.float32),
        "rank": rank,
    }


def labels(arrays, seed=6):
    random = np.random.default_rng(seed)
    # Class 5 is nowhere a label, and class 6 neither a label nor an answer at the pixels that count.
    masks = random.integers(0, 5, (SAMPLES, SIDE, SIDE)).astype(np.uint8)
    masks[random.random(masks.shape) < 0.2] = 255
    masks[arrays["pixels"].argmax(1) == 6] = 255
    return {
        "masks": masks,
        "classes": random.integers(0, CLASSES, SAMPLES),
        "ones": (arrays["rank"][:, 0, 0] + random.standard_normal(SAMPLES) > 0).astype(np.uint8),
        "references": arrays["pixels"] + 0.05 * random.standard_normal(arrays["pixels"].shape).astype(np.float32),
    }


def model(arrays):
    """Each output is its input times 1, channel by channel."""
    nodes, weights, ports = [], [], ([], [])
    for name, array in arrays.items():
        shape = [1, *array.shape[1:]]
        channels, axes = shape[1], len(shape) - 2
        weights.append(numpy_helper.from_array(np.ones((channels, 1, *[1] * axes), np.float32), f"{name}_weight"))
        nodes.append(helper.make_node("Conv", [name, f"{name}_weight"], [f"{name}_out"], group=channels, name=f"{name}_conv"))
        ports[0].append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        ports[1].append(helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, shape))
    graph = helper.make_graph(nodes, "identity", *ports, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def found_boxes(seed=7, kinds=4):
    """For each image the boxes that a detector might find, `[class, score, corners]`, and rows of image, class and corners."""
    random = np.random.default_rng(seed)
    found, truth = [], []
    for image in range(SAMPLES):
        boxes = []
        for _ in range(random.integers(0, 6)):
            kind, corner, size = int(random.integers(kinds)), random.random(2) * 80, 5 + random.random(2) * 40
            box = np.concatenate([corner, corner + size])
            truth.append((image, kind, *box))
            for _ in range(random.integers(0, 3)):
                boxes.append((kind, random.random(), *(box + random.standard_normal(4) * 3)))
        for _ in range(random.integers(0, 4)):
            corner = random.random(2) * 80
            boxes.append((int(random.integers(kinds + 1)), random.random() / 2, *corner, *(corner + 20)))
        found.append(boxes)
    return found, np.array(truth)


def precision(found, truth):
    """By the functions that the table of accuracy is computed with: the mean, and that of an overlap of 0.5."""
    arrays = [np.array(boxes).reshape(-1, 6) for boxes in found]
    arrays = [boxes[np.argsort(-boxes[:, 1], kind="stable")] for boxes in arrays]
    table = metrics.average_precisions([(boxes[:, 2:], boxes[:, 1], boxes[:, 0]) for boxes in arrays], truth, len(found))
    return 100 * float(table.mean()), 100 * float(table[:, 0].mean())


def as_labels(truth, images):
    rows = [[row for row in truth if row[0] == image] for image in range(images)]
    return json.dumps([[{"class": int(row[1]), "box": [float(x) for x in row[2:]]} for row in image] for image in rows])


def mean_iou(predicted, masks):
    counted = masks != 255
    ratios = []
    for kind in range(CLASSES):
        ours, theirs = (predicted == kind) & counted, (masks == kind) & counted
        either = (ours | theirs).sum()
        if either:
            ratios.append((ours & theirs).sum() / either)
    return 100 * float(np.mean(ratios))


def area(scores, ones):
    high, low = scores[ones == 1], scores[ones == 0]
    return float((high[:, None] > low).mean() + (high[:, None] == low).mean() / 2)


def placements(scores, ones):
    """By pairs: for each sample the share of the other label on the right side of it."""
    high, low = scores[ones == 1], scores[ones == 0]
    pairs = (high[:, None] > low) + 0.5 * (high[:, None] == low)
    return pairs.mean(1), pairs.mean(0)


def delong(first, second, ones):
    """The standard error of the difference of two areas."""
    differences = [a - b for a, b in zip(placements(first, ones), placements(second, ones))]
    return float(np.sqrt(sum(np.var(d, ddof=1) / len(d) for d in differences)))


def signal_to_noise(outputs, references, peak):
    error = ((outputs.astype(np.float64) - references) ** 2).reshape(SAMPLES, -1).mean(1)
    return 10 * np.log10(peak**2 / error)


def splitmix(count):
    """The draws of the bootstrap: SplitMix64 from 0, the upper half of a product."""
    state, mask = 0, (1 << 64) - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield ((z ^ (z >> 31)) * count) >> 64


def bootstrap(difference, count, resamples=1000):
    draws = splitmix(count)
    found = [difference([next(draws) for _ in range(count)]) for _ in range(resamples)]
    return [float(end) for end in np.quantile(found, [0.025, 0.975])]


def compared(strait, work):
    """Pairs of whether a figure is right, and what it is."""
    (work / "samples").mkdir(parents=True, exist_ok=True)
    arrays = inputs()
    truth = labels(arrays)
    for name, array in arrays.items():
        np.save(work / "samples" / f"{name}.npy", array)
    for name, array in truth.items():
        np.save(work / f"{name}.npy", array)
    onnx.save(model(arrays), work / "model.onnx")
    found, boxes = found_boxes()
    (work / "found.json").write_text(json.dumps(found))
    (work / "boxes.json").write_text(as_labels(boxes, SAMPLES))
    command = json.dumps([sys.executable, "-c", "print(open('found.json').read())"])
    of_boxes = f"kind = 'map'\nlabels = 'boxes.json'\ncommand = {command}"
    tables = {
        "map": of_boxes,
        "map50": f"{of_boxes}\noverlap = 0.5",
        "miou": "output = 'pixels_out'\nlabels = 'masks.npy'",
        "psnr": "output = 'pixels_out'\nlabels = 'references.npy'\npeak = 4",
        "top1": "output = 'scores_out'\nlabels = 'classes.npy'",
        "top5": "output = 'scores_out'\nlabels = 'classes.npy'",
        "auc": "output = 'rank_out'\nlabels = 'ones.npy'",
    }
    lines = ["schema = 1", "[model]", "file = 'model.onnx'", "[target]", "use = ['generic-int8']"]
    lines += ["[calibration]", "data = 'samples'", "[output]", "dir = 'artifact'", "emit = []"]
    lines += ["[evaluation]", "data = 'samples'", "metrics = ['agreement', 'cosine', 'snr']"]
    lines += [f"[[evaluation.metric]]\nname = '{name}'\n{table}" for name, table in tables.items()]
    (work / "deploy.toml").write_text("\n".join(lines) + "\n")
    try:
        processes.check([strait, "compile", work / "deploy.toml", "--allow-commands"], work / "compile.log")
        command = [strait, "run", work / "artifact", "--output", f"{work / 'out'}/"]
        command += [word for name in arrays for word in ("--input", f"{name}={work / 'samples' / name}.npy")]
        processes.check(command, work / "run.log")
    except processes.Failed as failed:
        yield False, f"metrics: {failed}"
        return
    report = json.loads((work / "artifact" / "report.json").read_text())
    measured = {(metric["name"], metric["output"]): metric for metric in report["accuracy"]["metrics"]}
    index = json.loads((work / "out" / "index.json").read_text())["outputs"]
    integer = {one["name"]: np.load(work / "out" / one["file"]) for one in index}
    integer = {name: integer[f"{name}_out"].reshape(array.shape) for name, array in arrays.items()}

    def same(name, output, key, expected, within=TOLERANCE):
        metric = measured[name, output and f"{output}_out"]
        for step in key.split("."):
            metric = metric[step]
        found = np.ravel(metric)
        off = float(np.max(np.abs(found - np.ravel(expected))))
        return off <= within, f"metrics: {name} of {output}, {key}: {found} and NumPy's differ by {off:.1e}"

    for name, expected in zip(("map", "map50"), precision(found, boxes)):
        yield same(name, None, "float.value", expected)
    sides = {"float": arrays, "integer": integer}
    for side, outputs in sides.items():
        yield same("miou", "pixels", f"{side}.value", mean_iou(outputs["pixels"].argmax(1), truth["masks"]))
        ratios = signal_to_noise(outputs["pixels"], truth["references"], 4)
        yield same("psnr", "pixels", f"{side}.value", ratios.mean())
        scores = outputs["scores"][:, :, 0]
        order = np.argsort(-scores, axis=1, kind="stable")
        for name, most in (("top1", 1), ("top5", 5)):
            right = (order[:, :most] == truth["classes"][:, None]).any(1)
            yield same(name, "scores", f"{side}.value", 100 * right.mean())
        yield same("auc", "rank", f"{side}.value", area(outputs["rank"][:, 0, 0], truth["ones"]))
    for name in arrays:
        ours, theirs = (side[name].reshape(SAMPLES, -1).astype(np.float64) for side in (integer, arrays))
        error = ((ours - theirs) ** 2).sum()
        if error:
            yield same("snr", name, "integer.value", 10 * np.log10((theirs**2).sum() / error))
        norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
        cosines = np.where(norms == 0, 1, (ours * theirs).sum(1) / np.where(norms == 0, 1, norms))
        yield same("cosine", name, "integer.value", cosines.mean())
    differences = np.subtract(*(signal_to_noise(side["pixels"], truth["references"], 4) for side in (integer, arrays)))
    yield same("psnr", "pixels", "change.value", differences.mean())
    error = differences.std(ddof=1) / np.sqrt(SAMPLES)
    yield same("psnr", "pixels", "change.standard_error", error)
    student = 2.000995378  # 97.5 %, 59 degrees of freedom
    yield same("psnr", "pixels", "change.interval", differences.mean() + np.array([-1, 1]) * student * error)
    ranks = [side["rank"][:, 0, 0] for side in (integer, arrays)]
    yield same("auc", "rank", "change.standard_error", delong(*ranks, truth["ones"]))
    predicted = [side["pixels"].argmax(1) for side in (integer, arrays)]

    def drawn(chosen):
        masks = truth["masks"][chosen]
        return mean_iou(predicted[0][chosen], masks) - mean_iou(predicted[1][chosen], masks)

    yield same("miou", "pixels", "change.interval", bootstrap(drawn, SAMPLES))


def real(strait, repository, data, shared, work):
    """The same for figures of the real models: those of classes, of an autoencoder, and of boxes that a command makes."""
    stored = json.loads((shared / "results.json").read_text())
    work.mkdir(parents=True, exist_ok=True)
    truth = np.load(data / "coco" / "eval_truth.npy")
    (work / "boxes.json").write_text(as_labels(truth, len(np.load(data / "coco" / "eval_ratio.npy"))))
    command = [sys.executable, str(Path(__file__).with_name("yolox_boxes.py")), str(data / "coco" / "eval_ratio.npy")]
    boxes = f"kind='map', labels='{work / 'boxes.json'}', command={json.dumps(command)}"
    for name, folder, tables, keys in [
        ("mlperf_kws", "kws", f"{{ name='top1', labels='{data / 'kws' / 'eval_y.npy'}' }}", {"top1": "kws_mfcc_i8_eval_top1"}),
        (
            "mlperf_ad",
            "ad",
            f"{{ name='auc', score='reconstruction', group=49, labels='{data / 'ad' / 'eval_y.npy'}' }}",
            {"auc": "auc"},
        ),
        (
            "yolox_nano",
            "coco",
            f"{{ name='map', {boxes} }}, {{ name='half', overlap=0.5, {boxes} }}",
            {"map": "mAP", "half": "AP50"},
        ),
    ]:
        command = [strait, "compile", repository / "configs" / "models" / f"{name}.toml", "--allow-commands", "--json"]
        command += ["--target", "generic-int8", "--out", work / name, "--set", "output.emit=[]"]
        command += ["--set", f"model.file='{shared / 'models' / name}.onnx'"]
        command += ["--calibration", data / folder / "calib_x.npy", "--set", f"evaluation.data='{data / folder / 'eval_x.npy'}'"]
        try:
            finished = processes.check([*command, "--set", f"evaluation.metric=[{tables}]"], work / f"{name}.log")
        except processes.Failed as failed:
            yield False, f"metrics of {name}: {failed}"
            continue
        measured = json.loads(finished.output)["artifacts"][0]["report"]["accuracy"]["metrics"]
        for metric in measured:
            value, expected = metric["float"]["value"], stored[name]["float"][keys[metric["name"]]]
            text = f"metrics of {name}: {metric['name']} {value:.4f}, stored {expected:.4f}"
            yield abs(value - expected) <= REAL_TOLERANCE * expected, text
