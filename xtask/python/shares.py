#!/usr/bin/env python3
"""Try examples/kubernetes and examples/ray on this machine. Started by `cargo xtask oracles --shares`. What needs a package that is not
there (kubernetes-validate, ray) is skipped, and said so."""

import argparse
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SETTINGS = ["calibration.samples=60", "optimize.preset='thorough'"]


def digest(strait, configuration, folder):
    """The digest that one process gives."""
    sets = [part for setting in [*SETTINGS, f"calibration.cache='{folder}/cache'"] for part in ("--set", setting)]
    command = [strait, "compile", configuration, "--out", folder / "out", *sets]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return re.search(r"^digest: (\w+)$", done.stdout, re.M)[1]


def manifests(folder):
    """Holds the manifests against the schema, and returns the environment of the container."""
    import kubernetes_validate
    import yaml

    found = list(yaml.safe_load_all((folder / "job.yaml").read_text()))
    for manifest in found:
        kubernetes_validate.validate(manifest, "1.33", strict=True)
    [job] = [manifest["spec"] for manifest in found if manifest["kind"] == "Job"]
    [container] = job["template"]["spec"]["containers"]
    environment = {one["name"]: one["value"] for one in container["env"]}
    assert str(job["completions"]) == str(job["parallelism"]) == environment["SHARES"], "the numbers differ"
    print(f"kubernetes: {len(found)} manifests are valid")


def pods(script, strait, configuration, folder, expected):
    """Runs the entry point as three pods would, and kills one of them in the middle."""
    environment = os.environ | {"PATH": f"{Path(strait).parent}:{os.environ['PATH']}", "SHARES": "3", "RUN": "try"}
    environment |= {"CONFIG": str(configuration), "SHARED": str(folder)}
    sets = [part for setting in SETTINGS for part in ("--set", setting)]

    def start(index):
        own = environment | {"JOB_COMPLETION_INDEX": str(index)}
        return subprocess.Popen([script, *sets], env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    running = [start(index) for index in range(3)]
    wait_for(folder / "exchange" / "try" / "00009-2-of-3")
    running[1].kill()
    assert running[1].wait() != 0, "it was not killed in the middle"
    running[1] = start(1)
    for pod in running:
        out, error = pod.communicate()
        assert f"digest: {expected}\n" in out, out + error
    print("kubernetes: three pods, one of them killed in the middle, give the digest of one process")


def tasks(example, strait, configuration, folder, expected):
    """Runs two tasks of Ray, and kills the worker of one of them in the middle."""
    # Ray writes a token into the home.
    os.environ["HOME"] = str(folder.parent)
    import ray

    sys.path.insert(0, str(example))
    import shares

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    sets = [part for setting in SETTINGS for part in ("--set", setting)]
    killed = []

    def kill():
        wait_for(folder / "exchange" / "00009-2-of-2")
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().split(b"\0")
                parent = int(re.search(r"^PPid:\s*(\d+)$", (process / "status").read_text(), re.M)[1])
            except OSError:
                continue
            if b"2/2" in command and str(folder / "exchange").encode() in command:
                os.kill(parent, signal.SIGKILL)
                os.kill(int(process.name), signal.SIGKILL)
                killed.append(parent)

    killer = threading.Thread(target=kill)
    killer.start()
    found = shares.compile_in_shares([str(strait), "compile", str(configuration), *sets], 2, folder)
    killer.join()
    ray.shutdown()
    assert killed and found == [expected], f"{found} with {len(killed)} killed, expected {expected}"
    print("ray: two tasks, the worker of one killed in the middle, give the digest of one process")


def wait_for(path):
    since = time.monotonic()
    while not path.exists():
        assert time.monotonic() - since < 300, f"{path} does not come"
        time.sleep(0.001)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strait", type=Path, required=True)
    parser.add_argument("--repository", type=Path, required=True)
    arguments = parser.parse_args()
    strait, examples = arguments.strait.resolve(), arguments.repository.resolve() / "examples"
    configuration = arguments.repository.resolve() / "configs" / "generic-int8.toml"
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        expected = digest(strait, configuration, folder / "one")
        if importlib.util.find_spec("kubernetes_validate"):
            manifests(examples / "kubernetes")
        else:
            print("skipped: the schema of the manifests, since kubernetes-validate is not installed")
        if shutil.which("sh"):
            pods(examples / "kubernetes" / "share.sh", strait, configuration, folder / "pods", expected)
        if importlib.util.find_spec("ray"):
            tasks(examples / "ray", strait, configuration, folder / "ray", expected)
        else:
            print("skipped: the tasks of Ray, since ray is not installed")


if __name__ == "__main__":
    main()
