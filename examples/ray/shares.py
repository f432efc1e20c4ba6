#!/usr/bin/env python3
"""Compile one configuration in several shares as tasks of Ray.

    python shares.py deploy.toml --shares 4 --shared /mnt/shared/run-1

Each task runs the program `strait` on one share of the samples. The folder --shared has to be the same on all nodes. A task whose
worker is lost is started again by Ray, and goes on where it was. All tasks have the same digest in the end, which is printed.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy


@ray.remote(max_retries=5)
def compile_share(command, part, parts, shared, threads):
    """Runs one share. Returns the digests of its artifacts by folder."""
    own = Path(shared) / f"share-{part}"
    command = [
        *command,
        *("--share", f"{part}/{parts}", "--exchange", f"{shared}/exchange", "--threads", str(threads)),
        *("--out", str(own / "build" / "{target}"), "--set", f"calibration.cache='{own / 'cache'}'"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"share {part}/{parts}: {done.stderr}")
    return re.findall(r"^digest: (\w+)$", done.stdout, re.M)


def compile_in_shares(command, shares, shared, threads=1):
    """Runs all shares at the same time, because they wait for each other. Returns the digests, which all shares have in common."""
    group = placement_group([{"CPU": threads}] * shares)
    wanted, there = shares * threads, ray.cluster_resources().get("CPU", 0)
    if wanted > there:
        print(f"waiting for {wanted} CPUs, for all shares at the same time; the cluster has {there:g}", file=sys.stderr)
    ray.get(group.ready())
    tasks = [
        compile_share.options(
            num_cpus=threads,
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=part),
        ).remote(command, part + 1, shares, str(shared), threads)
        for part in range(shares)
    ]
    digests = ray.get(tasks)
    if any(other != digests[0] for other in digests):
        raise RuntimeError(f"the shares have different artifacts: {digests}")
    return digests[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configuration")
    parser.add_argument("--shares", type=int, required=True)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--strait", default="strait")
    arguments, more = parser.parse_known_args()
    ray.init()
    command = [arguments.strait, "compile", arguments.configuration, *more]
    print(*compile_in_shares(command, arguments.shares, arguments.shared, arguments.threads), sep="\n")


if __name__ == "__main__":
    main()
