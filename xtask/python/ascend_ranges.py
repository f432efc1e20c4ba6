#!/usr/bin/env python3
"""Restate Ascend's observers in NumPy, and print the ranges of a few sets of numbers:  ascend_ranges.py

`crates/quantize/tests/ascend_ranges.rs` holds the observers against what this prints. The rules are those of AMCT's public
sources: every element is sorted or counted by itself, with bins of a batch's own range.
"""

import numpy as np


def bell(count, spread, state=1):
    """Numbers around a little above zero, each the sum of four, by a linear congruence."""
    found = np.empty(4 * count, np.float32)
    for i in range(4 * count):
        state = (state * 1_664_525 + 1_013_904_223) % 2**32
        found[i] = np.float32(state >> 8) / np.float32(1 << 24) - np.float32(0.5)
    a, b, c, d = found.reshape(count, 4).T
    return np.float32(spread) * (a + b + c + d + np.float32(0.1))


def away(x):
    """Rounding to the nearest, halves away from zero."""
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def ifmr(x, symmetric, bits=8, percentile=0.999999, start=0.7, end=1.3, step=0.01):
    """(scale, ends of the range)."""
    x = np.sort(x.astype(np.float64))
    k = max(len(x) - int(np.floor(percentile * len(x))), 1)
    high, low = max(x[-k], 0), min(x[k - 1], 0)
    best = None
    for i in range(int(np.floor((end - start) / step + 1 + 1e-9))):
        r = start + i * step
        if symmetric:
            limit = 2 ** (bits - 1) if abs(high) < abs(low) else 2 ** (bits - 1) - 1
            reach = r * max(abs(high), abs(low))
            scale, ends = reach / limit, (-reach, reach)
        else:
            scale, ends = (r * high - low) / (2**bits - 1), (low, r * high)
        error = np.mean((away(np.clip(x, *ends) / scale) * scale - x) ** 2)
        if best is None or error < best[0]:
            best = (error, scale, ends)
    return best[1:]


def hfmg(x, symmetric, bins=4096, bits=8):
    """(scale, ends of the range)."""
    counts, edges = np.histogram(x.astype(np.float64), bins)
    first, width = edges[0], edges[1] - edges[0]
    density = counts / width
    step = max(-(-counts.sum() // 100_000), 1)
    left, right, tried = 0, bins - 1, []
    while right - left > -(-bins // 4):
        within = counts[left : right + 1]
        from_left = int(np.searchsorted(np.cumsum(within), step)) + 1
        from_right = int(np.searchsorted(np.cumsum(within[::-1]), step)) + 1
        if from_left > from_right:
            left += from_left
        else:
            right -= from_right
        tried.append((left, right))
    best = None
    for left, right in tried:
        cell = width * (right - left + 1) / 2**bits
        low = first + left * width
        # Points of each bin stand for its density.
        points = edges[:-1, None] + width * (np.arange(64) + 0.5) / 64
        index = np.clip(np.floor((points - low) / cell), 0, 2**bits - 1)
        error = (((points - (low + (index + 0.5) * cell)) ** 2).mean(axis=1) * density * width).sum()
        if best is None or error < best[0]:
            best = (error, left, right)
    low, high = first + best[1] * width, first + (best[2] + 1) * width
    if symmetric:
        limit = 2 ** (bits - 1) if abs(high) < abs(low) else 2 ** (bits - 1) - 1
        return max(abs(low), abs(high)) / limit, (low, high)
    low, high = min(low, 0), max(high, 0)
    return (high - low) / (2**bits - 1), (low, high)


def main():
    outlier = np.concatenate([bell(20_000, 1), np.array([9], np.float32)])
    for name, x in {"bell": bell(20_000, 3), "negative": -bell(20_000, 3) - 1, "outlier": outlier}.items():
        for symmetric in (False, True):
            for observer in (ifmr, hfmg):
                scale, _ = observer(x, symmetric)
                print(f'("{observer.__name__}", "{name}", {str(symmetric).lower()}, {scale:.9e}),')


if __name__ == "__main__":
    main()
