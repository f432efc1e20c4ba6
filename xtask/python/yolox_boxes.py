#!/usr/bin/env python3
"""Boxes of YOLOX, for `[[evaluation.metric]]`:  yolox_boxes.py RATIOS OUTPUTS

RATIOS is the .npy of the scales at which images were put into the network's input, OUTPUTS the .npz that `strait` writes. Prints
for each image the boxes [class, score, left, top, right, bottom] in its own pixels.
"""

import json
import sys

import metrics
import numpy as np


def main():
    ratios, outputs = np.load(sys.argv[1]), np.load(sys.argv[2])
    (name,) = outputs.files
    images = []
    for output, ratio in zip(outputs[name], ratios):
        boxes, scores = metrics.yolox_boxes(output)
        boxes, scores, kinds = metrics.detections(boxes / ratio, scores)
        images.append([[int(kind), float(score), *map(float, box)] for box, score, kind in zip(boxes, scores, kinds)])
    json.dump(images, sys.stdout)


if __name__ == "__main__":
    main()
