#!/usr/bin/env python3
"""Hold our schema of TFLite, and our names of its operators and types, against the code that LiteRT's package has been given.
Started by `cargo xtask oracles`."""

import argparse
import inspect
import re
import sys
from pathlib import Path

from ai_edge_litert import schema_py_generated as schema

SOURCE = inspect.getsource(schema)
# The parts of our schema.
KINDS = ["enums", "tables", "options"]
NAMES = {"Activation": "ActivationFunctionType", "WeightsFormat": "FullyConnectedOptionsWeightsFormat"}


def numbers(name):
    """The names of an enumeration, each at its number."""
    members = {value: key for key, value in vars(getattr(schema, name)).items() if not key.startswith("_")}
    return [members.get(number) for number in range(max(members) + 1)]


def slots(table):
    """The fields of a table, as the generated methods look for them: by an offset of 4 and 2 for each field."""
    body = re.search(rf"^class {table}\(object\):\n(.*?)(?=^class |^def |\Z)", SOURCE, re.S | re.M).group(1)
    found = {}
    for method in re.split(r"^    def ", body, flags=re.M)[1:]:
        name, offset = method.split("(")[0], re.search(r"self\._tab\.Offset\((\d+)\)", method)
        if offset and not name.endswith(("Length", "IsNone", "AsNumpy")):
            found[name] = (int(offset.group(1)) - 4) // 2
    return found


def camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def faults(ours, names):
    for list_name, enumeration in [("OPERATORS", "BuiltinOperator"), ("TYPES", "TensorType")]:
        listed = re.findall(r'"(\w+)"', re.search(rf"{list_name}: .*?\];", names, re.S).group())
        if listed != numbers(enumeration):
            yield f"{list_name} are not those of {enumeration}"
    enums, tables, options = (re.search(rf"^{kind}! \{{(.*?)^\}}", ours, re.S | re.M).group(1) for kind in KINDS)
    for name, body in re.findall(r"^    (\w+) \{ (.*?) \}", enums, re.M):
        members = [plain(member) for member in numbers(NAMES.get(name, name))]
        for member, number in re.findall(r"(\w+) = (\d+)", body):
            if members[int(number)] != plain(member):
                yield f"{name}::{member} is {members[int(number)]}"
    for name, body in re.findall(r"^    (\w+) \{(.*?)^    \}", options, re.S | re.M):
        members = numbers(name)
        for tag, member in re.findall(r"(\d+) (\w+),", body):
            if members[int(tag)] != member:
                yield f"{name}::{member} is {members[int(tag)]}"
    for name, body in re.findall(r"^    (\w+) \{\n(.*?)^    \}", tables, re.S | re.M):
        known = slots(name)
        for slot, field in re.findall(r"^        (?:union )?(\d+) (\w+):", body, re.M):
            found = known.get(camel(field.rstrip("_")) + ("Type" if f"union {slot} {field}" in body else ""))
            if found != int(slot):
                yield f"{name}.{field} is {found}, and not {slot}"


def plain(name):
    return name.replace("_", "").lower()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("crate", type=Path)
    crate = parser.parse_args().crate
    found = list(faults((crate / "src" / "schema" / "mod.rs").read_text(), (crate / "src" / "names.rs").read_text()))
    for fault in found:
        print(f"WRONG   {fault}")
    print(f"the schema of TFLite: {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
