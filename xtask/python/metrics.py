"""The metrics of the accuracy table, from arrays of outputs with the samples along the first axis; in percent but for AUC."""

import numpy as np

DETECTION_SCORE, DETECTION_OVERLAP = 0.02, 0.6  # below the first a box is dropped; above the second it is a duplicate
DETECTION_CANDIDATES, DETECTION_BOXES = 1500, 300  # per image, before and after duplicates are dropped
OVERLAPS = np.arange(0.5, 0.96, 0.05)  # of the ten average precisions in a COCO mAP
RECALLS = np.linspace(0, 1, 101)


def classes(outputs):
    """The predicted class of each sample."""
    return outputs.reshape(len(outputs), -1).argmax(1)


def standard_error(differences):
    """Of the mean of paired differences, in percent points."""
    return 100 * float(np.std(differences, ddof=1) / np.sqrt(len(differences)))


def area_under_roc(scores, labels):
    """The share of (anomaly, normal) pairs where the anomaly scores higher; a tie counts as half."""
    anomaly, normal = scores[labels == 1], scores[labels == 0]
    higher = (anomaly[:, None] > normal[None, :]).mean()
    equal = (anomaly[:, None] == normal[None, :]).mean()
    return float(higher + equal / 2)


def anomaly_scores(windows, reconstructions, clips):
    """Mean squared error of the reconstruction per clip, over its windows."""
    errors = ((windows - reconstructions.reshape(windows.shape)) ** 2).mean(1)
    return errors.reshape(clips, -1).mean(1)


def yolox_boxes(output, side=416):
    """Corners [n,4] in pixels of the network's input and scores [n,80], from the undecoded output [n,85].

    On a grid of stride s a cell (i, j) predicts centre (j + x, i + y) · s and size exp(w, h) · s.
    """
    cells, strides = [], []
    for stride in (8, 16, 32):
        count = side // stride
        row, column = np.divmod(np.arange(count * count), count)
        cells.append(np.stack([column, row], 1))
        strides.append(np.full((count * count, 1), stride))
    cells, strides = np.concatenate(cells), np.concatenate(strides)
    output = output.reshape(-1, 85)
    centre = (output[:, :2] + cells) * strides
    half = np.exp(np.clip(output[:, 2:4], -20, 20)) * strides / 2
    return np.concatenate([centre - half, centre + half], 1), output[:, 4:5] * output[:, 5:]


def overlap(a, b):
    """Intersection over union of each box in a [n,4] with each in b [m,4]."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(2)
    area_a, area_b = ((box[:, 2:] - box[:, :2]).prod(1) for box in (a, b))
    return common / (area_a[:, None] + area_b[None, :] - common + 1e-9)


def detections(boxes, scores):
    """The boxes that are kept, their scores and classes, best first: greedy suppression of duplicates within a class."""
    which, kind = np.nonzero(scores > DETECTION_SCORE)
    order = np.argsort(-scores[which, kind], kind="stable")[:DETECTION_CANDIDATES]
    which, kind = which[order], kind[order]
    boxes, scores = boxes[which], scores[which, kind]
    keep = np.ones(len(boxes), bool)
    for one in np.unique(kind):
        members = np.flatnonzero(kind == one)
        duplicate = overlap(boxes[members], boxes[members]) > DETECTION_OVERLAP
        for position, index in enumerate(members):
            if keep[index]:
                keep[members[position + 1 :][duplicate[position, position + 1 :]]] = False
    chosen = np.flatnonzero(keep)[:DETECTION_BOXES]
    return boxes[chosen], scores[chosen], kind[chosen]


def average_precisions(found, truth, images):
    """One row of ten average precisions per class that occurs. `found`: per image what `detections` gives;
    `truth`: rows of image, class, corners."""
    rows = []
    for kind in np.unique(truth[:, 1]):
        expected = [truth[(truth[:, 0] == image) & (truth[:, 1] == kind)][:, 2:] for image in range(images)]
        total = sum(map(len, expected))
        claims = []  # (score, image, overlaps with that image's expected boxes)
        for image, (boxes, scores, kinds) in enumerate(found):
            mine = kinds == kind
            claims += zip(scores[mine], [image] * mine.sum(), overlap(boxes[mine], expected[image]))
        claims.sort(key=lambda claim: -claim[0])
        rows.append([average_precision(claims, expected, total, least) for least in OVERLAPS])
    return np.array(rows)


def average_precision(claims, expected, total, least):
    """Claims in descending order each take the free expected box that they overlap most, if by `least`;
    then the precision that is reached at or behind each of 101 recalls, averaged."""
    free = [np.ones(len(boxes), bool) for boxes in expected]
    hits = np.zeros(len(claims))
    for index, (_, image, overlaps) in enumerate(claims):
        if not len(overlaps):
            continue
        candidates = np.where(free[image], overlaps, -1)
        best = candidates.argmax()
        if candidates[best] >= least:
            free[image][best] = False
            hits[index] = 1
    recall = np.cumsum(hits) / total
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    position = np.searchsorted(recall, RECALLS)
    return float(np.append(envelope, 0)[position].mean())


def mean_average_precision(outputs, truth, ratios):
    """(mAP over overlaps 0.5 to 0.95, AP at 0.5), in percent."""
    found = []
    for output, ratio in zip(outputs, ratios):
        boxes, scores = yolox_boxes(output)
        found.append(detections(boxes / ratio, scores))
    table = average_precisions(found, truth, len(outputs))
    return 100 * float(table.mean()), 100 * float(table[:, 0].mean())


def signal_to_noise(images, truth):
    """The mean of the images' ratios of a peak of 1 to their errors, in decibels."""
    errors = ((images.astype(np.float64) - truth) ** 2).reshape(len(truth), -1).mean(1)
    return float((-10 * np.log10(errors)).mean())


def decibel(outputs, reference):
    """Signal-to-noise ratio of all outputs together against those of another model."""
    reference = np.asarray(reference, np.float64).reshape(-1)
    noise = ((np.asarray(outputs, np.float64).reshape(-1) - reference) ** 2).sum()
    return float(10 * np.log10((reference**2).sum() / noise)) if noise else float("inf")
