#!/usr/bin/env python3
"""Photographs to what a network takes, beside Pillow with NumPy. Started by `cargo xtask bench --images`.

Makes COUNT JPEGs of 640 x 480 with chroma of half the size, and measures in turns: `cargo bench -p strait-samples` on two
threads, and Pillow with NumPy in two processes; both decode, resize to 224 x 224 (bilinear), normalize and move channels
first. Then the peak memory of our process on all images and on a tenth of them. Medians; a missed mark fails the command.
"""

import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image

COUNT, WIDTH, HEIGHT, SIDE = 500, 640, 480, 224
MEMORY_BOUND = 1.1  # what all images may take of the memory that a tenth of them takes
MEAN = np.float32([123.675, 116.28, 103.53])
STD = np.float32([58.395, 57.12, 57.375])


def photographs(folder, data):
    """Real photographs where there are some, scaled and mirrored; smooth noise with edges elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted(data.glob("coco/*/*.jpg")) if data else []
    random = np.random.default_rng(1)
    for index in range(COUNT):
        path = folder / f"{index:04}.jpg"
        if path.exists():
            continue
        if sources:
            image = Image.open(sources[index % len(sources)]).convert("RGB")
            image = image.rotate(index % 7, Image.BICUBIC)
        else:
            image = Image.fromarray(random.integers(0, 256, (30, 40, 3), np.uint8))
        image.resize((WIDTH, HEIGHT), Image.BICUBIC).save(path, quality=90, subsampling="4:2:0")


def seen(path):
    image = Image.open(path).convert("RGB").resize((SIDE, SIDE), Image.BILINEAR)
    return ((np.asarray(image, np.float32) - MEAN) / STD).transpose(2, 0, 1).copy()


def read(paths):
    return sum(float(seen(path)[0, 0, 0]) for path in paths)


def pillow(pool, paths):
    begin = time.perf_counter()
    pool.map(read, [paths[0::2], paths[1::2]])
    return (time.perf_counter() - begin) * 1e3 / len(paths)


def ours(program, folder):
    """Milliseconds for each image, and the peak memory of the process in KiB."""
    script = (
        "import resource, subprocess, sys;"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True);"
        "print(done.stdout.split()[0], resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script, program, folder], capture_output=True, text=True, check=True)
    milliseconds, peak = done.stdout.split()
    return float(milliseconds), int(peak)


def built(repository):
    """The program of the bench `images` of strait-samples."""
    command = ["cargo", "bench", "-p", "strait-samples", "--bench", "images", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=repository, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    messages = [json.loads(line) for line in lines]
    return next(m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == "images")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="photographs in coco/*/*.jpg")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    program = built(arguments.repository)
    folder, tenth = arguments.work / "images", arguments.work / "tenth"
    photographs(folder, arguments.data)
    paths = sorted(folder.glob("*.jpg"))
    tenth.mkdir(exist_ok=True)
    for path in paths[:: 10]:
        (tenth / path.name).write_bytes(path.read_bytes())
    rival, own, peaks = [], [], []
    with multiprocessing.Pool(2) as pool:
        pillow(pool, paths)  # both processes are there, and the files are in memory
        for _ in range(arguments.rounds):
            rival.append(pillow(pool, paths))
            milliseconds, peak = ours(program, folder)
            own.append(milliseconds)
            peaks.append(peak)
    _, few = ours(program, tenth)
    rival, own, peak = statistics.median(rival), statistics.median(own), statistics.median(peaks)
    print(f"Pillow {Image.__version__} with NumPy, two processes: {rival:.3f} ms for each image")
    print(f"strait, two threads:                      {own:.3f} ms, {rival / own:.2f} times as fast")
    print(f"peak memory: {peak / 1024:.1f} MiB of {len(paths)} images, {few / 1024:.1f} MiB of {len(paths) // 10}")
    missed = []
    if own >= rival:
        missed.append("it is not faster than Pillow")
    if peak > MEMORY_BOUND * few:
        missed.append("memory grows with the number of images")
    if missed:
        sys.exit("; ".join(missed))


main()
