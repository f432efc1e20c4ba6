"""Other programs, with what they cost. Light on purpose: Linux counts a parent's memory into its child's peak."""

import json
import os
import subprocess
import time
from dataclasses import dataclass


@dataclass
class Finished:
    code: int
    seconds: float
    cpu_seconds: float  # of all threads, which other programs on the machine hardly change
    peak_bytes: int
    output: str


def run(arguments, log):
    """Runs to the end; standard output comes back, standard error goes to the file `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w") as errors:
        start = time.monotonic()
        process = subprocess.Popen([str(a) for a in arguments], stdout=subprocess.PIPE, stderr=errors, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds, cpu_seconds = time.monotonic() - start, usage.ru_utime + usage.ru_stime
    return Finished(process.returncode, seconds, cpu_seconds, usage.ru_maxrss * 1024, output)


class Failed(Exception):
    """A program ended badly; the text is what it complained of first."""


def check(arguments, log, accepted=(0,)):
    finished = run(arguments, log)
    if finished.code not in accepted:
        lines = [line for line in log.read_text().splitlines() if line.strip()]
        complaints = [line for line in lines if line.startswith(("error", "defect"))] or lines[-1:]
        raise Failed(f"exit code {finished.code}: {complaints[0] if complaints else 'without a word'} (see {log})")
    return finished


def report(finished):
    """What a program printed with --json."""
    return json.loads(finished.output)
