#!/usr/bin/env python3
"""Hold the operators that we read against all that the onnx package defines. Started by `cargo xtask oracles`.

Each version of an operator of the standard domain that is valid in one of the operator sets that we read is listed and read in
all of these, or stands here with a reason; and nothing is read that is not defined, by ONNX or, of its own operators, by ONNX
Runtime.
"""

import argparse
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

FIRST, LAST = 7, 28  # the operator sets that we read

# Reasons why operators are not read. Others have to be.
LEFT_OUT = {
    "a loss": ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"],
    "random numbers": ["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"],
    "strings": ["RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"],
    "images in files": ["ImageDecoder"],
    "maps over sequences and optional values": ["Optional", "OptionalGetElement", "OptionalHasElement", "SequenceMap"],
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", type=Path, required=True)
    rows = read_by_us(parser.parse_args().operators)
    of_runtime = {(row.domain, row.name, version) for row in rows for version in row.versions} & runtime_operators()
    read = defaultdict(list)
    for row in rows:
        if row.domain == "" and (row.domain, row.name, row.versions[0]) not in of_runtime:
            read[row.name].append(row)
    left_out = {name: reason for reason, names in LEFT_OUT.items() for name in names}
    defined, deprecated = versions()
    failures = [f"{name} is left out as {reason}, but is read" for name, reason in left_out.items() if name in read]
    failures += [f"{name} is left out, but not defined" for name in left_out if name not in defined]
    failures += [f"{name} is read, but not defined" for name in read if name not in defined]
    failures += [
        f"{row.domain}.{row.name} of version {version} is read, but not defined by ONNX Runtime"
        for row in rows for version in row.versions
        if row.domain and (row.domain, row.name, version) not in of_runtime
    ]  # fmt: skip
    count = 0
    for name, sets in defined.items():
        ours = set().union(*[row.sets for row in read.get(name, [])])
        listed = {version for row in read.get(name, []) for version in row.versions}
        for since, valid in sets.items():
            count += 1
            if name not in left_out and not (valid <= ours and since in listed):
                failures.append(f"{name} of version {since} is not read in the operator sets {missing(valid - ours) or missing(valid)}")
        beyond = ours - deprecated.get(name, set()) - set().union(*sets.values())
        if beyond:
            failures.append(f"{name} is read in the operator sets {missing(beyond)}, which do not have it")
        if unknown := listed - set(sets) - deprecated.get(name, set()):
            failures.append(f"{name} is read in the versions {missing(unknown)}, which are none")
    for failure in failures:
        print(f"FAILED  {failure}")
    if not failures:
        print(f"ok      operators: {count} versions of {len(defined)} operators; of these operators {len(left_out)} are left out; and "
              f"{len(of_runtime)} operators of ONNX Runtime")  # fmt: skip
    sys.exit(1 if failures else 0)


def missing(sets):
    return ", ".join(map(str, sorted(sets)))


@dataclass
class Row:
    """An operator of ours; the standard domain is empty."""

    domain: str
    name: str
    sets: set
    versions: list


def read_by_us(program):
    rows = []
    for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines():
        domain, name, first, last, listed = line.split(" ")
        sets, listed = set(range(int(first), int(last) + 1)), [int(version) for version in listed.split(",")]
        rows.append(Row("" if domain == "ai.onnx" else domain, name, sets, listed))
    return rows


def runtime_operators():
    """Domain, name and version of each operator that ONNX Runtime has and ONNX does not define."""
    ours = {(s.domain, s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history()}
    return {(s.domain, s.name, s.since_version) for s in get_all_operator_schema()} - ours


def versions():
    """For each operator, the operator sets that we read in which each of its versions is valid; and those in which it is
    deprecated."""
    schemas = defaultdict(dict)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.support_level != onnx.defs.OpSchema.SupportType.EXPERIMENTAL:
            schemas[schema.name][schema.since_version] = schema.deprecated
    found, deprecated = defaultdict(dict), defaultdict(set)
    for name, by_version in sorted(schemas.items()):
        starts = sorted(by_version)
        ends = [start - 1 for start in starts[1:]] + [LAST]
        for start, end in zip(starts, ends, strict=True):
            valid = set(range(max(start, FIRST), min(end, LAST) + 1))
            if by_version[start]:
                deprecated[name] |= valid
            elif valid:
                found[name][start] = valid
    return found, deprecated


if __name__ == "__main__":
    main()
