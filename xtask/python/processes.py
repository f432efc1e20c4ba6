"""Other programs, with what they cost.

Linux counts the memory of the process that starts a program into the program's own peak. So a process that has nothing
else in memory starts it: this file as a script.
"""

import json
import os
import subprocess
import sys
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
    # -I and -S keep the interpreter small.
    command = [sys.executable, "-I", "-S", __file__, log, *arguments]
    found = json.loads(subprocess.run([str(a) for a in command], stdout=subprocess.PIPE, check=True).stdout)
    if "error" in found:
        raise Failed(f"{arguments[0]} cannot be started: {found['error']}")
    return Finished(**found)


def measured(log, *arguments):
    """Runs a program to its end, and returns the fields of `Finished`."""
    with open(log, "w") as errors:
        start = time.monotonic()
        try:
            process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=errors, text=True)
        except OSError as error:
            return {"error": str(error)}
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu_seconds, peak_bytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    code = process.returncode
    return {"code": code, "seconds": seconds, "cpu_seconds": cpu_seconds, "peak_bytes": peak_bytes, "output": output}


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


if __name__ == "__main__":
    json.dump(measured(*sys.argv[1:]), sys.stdout)
