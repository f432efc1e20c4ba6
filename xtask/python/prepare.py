#!/usr/bin/env python3
"""Turn the models' calibration and evaluation data into arrays:  prepare.py DATA OUT

Images become uint8 [n,h,w,3], features and windows float32, labels integers, so that a configuration needs only
`[preprocess]` steps on arrays. Written below OUT, one folder per data set; what is there already stays.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from PIL import Image

YOLOX_SIDE, YOLOX_FILL = 416, 114
AD_WINDOW, AD_HOP = 5 * 128, 4 * 128  # five frames of 128 bands, every fourth frame
SMALL = 96  # pixels; a photograph's luminance is twice as large
LUMINANCE = np.float32([0.299, 0.587, 0.114])
KWS_SCALE, KWS_ZERO = 0.5847029089927673, 83  # of the int8 features: real = scale · (q − zero)


def imagenet(data):
    for part in ("calib", "eval"):
        folder = data / "imagenet" / part
        with open(folder / "labels.csv", newline="") as file:
            rows = list(csv.reader(file))[1:]
        images = [square(Image.open(folder / name).convert("RGB"), 224) for name, _ in rows]
        labels = np.array([int(label) for _, label in rows])
        yield f"{part}_x", np.stack(images)
        yield f"{part}_y", labels
        yield f"{part}_y_background", labels + 1  # for models whose class 0 is "background"


def square(image, side):
    if image.size != (side, side):
        image = image.resize((side, side), Image.BILINEAR)
    return np.asarray(image)


def cifar10(data):
    for file in sorted((data / "cifar10").glob("*.npy")):
        yield file.stem, np.load(file)


def vww(data):
    yield from halves(data, "vww", lambda x: x)


def kws(data):
    # One channel in front: the network takes [1,49,10].
    yield from halves(data, "kws_mfcc_i8", lambda x: ((x.astype(np.float32) - KWS_ZERO) * np.float32(KWS_SCALE))[:, None])


def kwt(data):
    yield from halves(data, "kwt_feat_f32", lambda x: x)


def armkws(data):
    yield from halves(data, "armkws_mfcc_f32", lambda x: x)


def luminance(data):
    """The middle of photographs from 0 to 1, small with the channel last, and as it is with the channel first."""
    for part in ("calib", "eval"):
        small, large = [], []
        for path in sorted((data / "coco" / part).glob("*.jpg")):
            pixels = np.asarray(Image.open(path).convert("RGB"), np.float32) @ LUMINANCE / np.float32(255)
            top, left = ((extent - 2 * SMALL) // 2 for extent in pixels.shape)
            if min(top, left) < 0:
                continue
            cut = np.ascontiguousarray(pixels[top : top + 2 * SMALL, left : left + 2 * SMALL])
            half = Image.fromarray(cut).resize((SMALL, SMALL), Image.BICUBIC)
            small.append(np.asarray(half, np.float32).clip(0, 1)[..., None])
            large.append(cut[None])
        yield f"{part}_x", np.stack(small)
        yield f"{part}_y", np.stack(large)


def halves(data, name, convert):
    for part in ("calib", "eval"):
        yield f"{part}_x", convert(np.load(data / "tiny" / f"{name}_{part}_x.npy"))
        yield f"{part}_y", np.load(data / "tiny" / f"{name}_{part}_y.npy")


def ad(data):
    def windows(clip):
        values = clip.astype(np.float32).ravel()
        return np.stack([values[at : at + AD_WINDOW] for at in range(0, len(values) - AD_WINDOW + 1, AD_HOP)])

    calibration = np.load(data / "tiny" / "ad_f16_calib_x.npy")[:8]
    yield "calib_x", np.concatenate([windows(clip)[::4] for clip in calibration])
    evaluation = np.load(data / "tiny" / "ad_f16_eval_x.npy")
    yield "eval_x", np.concatenate([windows(clip) for clip in evaluation])
    yield "eval_y", np.load(data / "tiny" / "ad_f16_eval_y.npy")  # one label per clip, not per window


def coco(data):
    for part in ("calib", "eval"):
        images, truth, ratios = [], [], []
        for index, path in enumerate(sorted((data / "coco" / part).glob("*.jpg"))):
            image = Image.open(path).convert("RGB")
            width, height = image.size
            ratio = min(YOLOX_SIDE / width, YOLOX_SIDE / height)
            small = np.asarray(image.resize((int(width * ratio), int(height * ratio)), Image.BILINEAR))
            canvas = np.full((YOLOX_SIDE, YOLOX_SIDE, 3), YOLOX_FILL, np.uint8)
            canvas[: small.shape[0], : small.shape[1]] = small
            images.append(canvas[..., ::-1])  # the network takes BGR
            ratios.append(ratio)
            for line in path.with_suffix(".txt").read_text().splitlines():
                if not line.strip():
                    continue
                kind, x, y, w, h = map(float, line.split()[:5])
                corners = ((x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height)
                truth.append((index, kind, *corners))
        yield f"{part}_x", np.stack(images)
        yield f"{part}_ratio", np.array(ratios)
        yield f"{part}_truth", np.array(truth)  # image, class, left, top, right, bottom in the original's pixels


SETS = {"imagenet": imagenet, "cifar10": cifar10, "vww": vww, "kws": kws, "kwt": kwt, "ad": ad, "coco": coco, "armkws": armkws, "luminance": luminance}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    for name, load in SETS.items():
        folder = arguments.out / name
        done = folder / "done"
        if done.exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        for key, array in load(arguments.data):
            np.save(folder / f"{key}.npy", np.ascontiguousarray(array))
            print(f"{name}/{key}.npy {array.dtype} {list(array.shape)}", flush=True)
        done.touch()  # last: an interrupted preparation starts again


if __name__ == "__main__":
    main()
