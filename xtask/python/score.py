#!/usr/bin/env python3
"""Score outputs:  score.py NAME DATA OUTPUTS [--float OUTPUTS]  prints JSON

NAME is one of the models in models.py, DATA what prepare.py wrote, OUTPUTS a folder with SET.npy for each evaluation
set. With the float model's outputs it also says how far the two agree.
"""

import argparse
import json
from pathlib import Path

import metrics
import numpy as np
from models import MODELS


def score(model, data, outputs, reference=None, rival=None):
    """{set: {metric: value}} of a model's outputs {set: array}; `reference` are the float model's outputs, `rival` those
    of another quantized model."""

    def of(name, others):
        return None if others is None else others[name]

    result = {
        name: SCORES[model.kind](data, sources, outputs[name], of(name, reference), of(name, rival))
        for name, sources in model.evaluations.items()
    }
    if reference is not None:
        for name, found in result.items():
            found["snr"] = metrics.decibel(outputs[name], reference[name])
    return result


def classifier(data, sources, outputs, reference, rival):
    labels = np.load(data / f"{sources[1]}.npy")
    predicted = metrics.classes(outputs)
    result = {"samples": len(labels), "top1": 100 * float((predicted == labels).mean())}
    if reference is not None:
        expected = metrics.classes(reference)
        difference = (predicted == labels).astype(float) - (expected == labels)
        result["agreement"] = 100 * float((predicted == expected).mean())
        result["top1_change"] = 100 * float(difference.mean())
        result["top1_change_error"] = metrics.standard_error(difference)
    if rival is not None:
        difference = (predicted == expected).astype(float) - (metrics.classes(rival) == expected)
        result["agreement_over_rival"] = 100 * float(difference.mean())
        result["same_as_rival"] = 100 * float((predicted == metrics.classes(rival)).mean())
        result["agreement_over_rival_error"] = metrics.standard_error(difference)
    return result


def anomaly(data, sources, outputs, reference, _rival):
    windows, labels = np.load(data / f"{sources[0]}.npy"), np.load(data / f"{sources[1]}.npy")
    scores = metrics.anomaly_scores(windows, outputs, len(labels))
    result = {"samples": len(labels), "auc": metrics.area_under_roc(scores, labels)}
    if reference is not None:
        expected = metrics.anomaly_scores(windows, reference, len(labels))
        result["score_error"] = float((abs(scores - expected) / expected).mean())
    return result


def detector(data, sources, outputs, _reference, _rival):
    truth = np.load(data / f"{sources[1]}.npy")
    ratios = np.load(data / f"{sources[1].replace('truth', 'ratio')}.npy")
    mean, half = metrics.mean_average_precision(outputs, truth, ratios)
    return {"samples": len(ratios), "mAP": mean, "AP50": half}


def enlarger(data, sources, outputs, _reference, _rival):
    truth = np.load(data / f"{sources[1]}.npy")
    return {"samples": len(truth), "psnr": metrics.signal_to_noise(outputs.reshape(truth.shape), truth)}


SCORES = {"classifier": classifier, "anomaly": anomaly, "detector": detector, "enlarger": enlarger}


def load(model, folder):
    return {name: np.load(folder / f"{name}.npy") for name in model.evaluations}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("data", type=Path)
    parser.add_argument("outputs", type=Path)
    parser.add_argument("--float", type=Path, dest="reference")
    arguments = parser.parse_args()
    model = MODELS[arguments.name]
    reference = load(model, arguments.reference) if arguments.reference else None
    print(json.dumps(score(model, arguments.data, load(model, arguments.outputs), reference), indent=1))


if __name__ == "__main__":
    main()
