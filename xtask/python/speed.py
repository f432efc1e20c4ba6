#!/usr/bin/env python3
"""How fast Strait is beside the runtimes and quantizers that people use. Started by `cargo xtask bench --peers`.

Each figure is shown with that of the peer, the ratio of the two, the mark for it, and what the processor could reach at
best. `--save` writes the figures to a file, and `--compare` fails if a ratio is worse than in such a file: ratios to a
peer in the same run say the same on every machine, while times do not.
"""

import argparse
import sys
from pathlib import Path

import processes
import speed_compile
import speed_latency
from speed_figures import Figures

# The parts that measure memory come first, since the others load runtimes into this process, and Linux counts its memory into that of
# the programs that it starts.
PARTS = {
    "compile": speed_compile.from_nothing,
    "start": speed_compile.starts,
    "graphs": speed_compile.graphs,
    "latency": speed_latency.models,
    "tiny": speed_latency.tiny,
}


def path(text):
    return Path(text).resolve()


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("strait", "repository", "work", "models"):
        parser.add_argument(f"--{option}", type=path, required=True)
    parser.add_argument("--graphs", type=path, required=True, help="a folder with the large graphs and their samples")
    parser.add_argument("--shared", type=path, help="the folder with the real models")
    parser.add_argument("--data", type=path, help="the folder with the prepared data of the real models")
    parser.add_argument("--parts", default=",".join(PARTS), help="which of " + ", ".join(PARTS))
    parser.add_argument("--only", default="", help="only models whose name contains this")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of one round of one model")
    parser.add_argument("--save", type=path)
    parser.add_argument("--compare", type=path)
    parser.add_argument("--tolerance", type=float, default=0.05, help="by which a ratio may be worse than the saved one")
    arguments = parser.parse_args()
    unknown = set(arguments.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    return arguments


def main():
    arguments = options()
    arguments.work.mkdir(parents=True, exist_ok=True)
    figures = Figures()
    try:
        for name, part in PARTS.items():
            if name in arguments.parts.split(","):
                print(f"\n{name}", flush=True)
                part(arguments, figures)
    except processes.Failed as failed:
        sys.exit(f"bench: {failed}")
    if arguments.save:
        figures.save(arguments.save)
    missed = figures.missed()
    worse = figures.worse(arguments.compare, arguments.tolerance) if arguments.compare else []
    print(f"\n{len(figures.all)} figures, {len(missed)} miss their mark")
    for line in missed + worse:
        print(f"  {line}")
    sys.exit("bench: figures are worse than the saved ones" if worse else 0)


if __name__ == "__main__":
    main()
