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
# Ours, for tables whose fields nobody reads.
OWN = {"Nothing"}
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
    for name, body in re.findall(r"^enum (\w+) : \w+ \{(.*?)\}", ours, re.S | re.M):
        if re.findall(r"\w+", body) != numbers(NAMES.get(name, name)):
            yield f"enum {name}"
    for name, body in re.findall(r"^union (\w+) \{(.*?)\}", ours, re.S | re.M):
        if ["NONE", *re.findall(r"(\w+)(?:: \w+)?,?\s", body + "\n")] != numbers(name):
            yield f"union {name}"
    for name, body in re.findall(r"^table (\w+) \{(.*?)\}", ours, re.S | re.M):
        if name in OWN or not body.strip():
            continue
        known, position = slots(name), 0
        for field, kind, rest in re.findall(r"(\w+):\s*([\w\[\]]+)([^;]*);", body):
            is_union = kind in {"BuiltinOptions", "BuiltinOptions2", "QuantizationDetails"}
            position += is_union  # its kind is a field in front of it
            if "deprecated" not in rest and known.get(camel(field)) != position:
                yield f"{name}.{field} is {known.get(camel(field))}, and not {position}"
            position += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("crate", type=Path)
    crate = parser.parse_args().crate
    found = list(faults((crate / "tflite.fbs").read_text(), (crate / "src" / "names.rs").read_text()))
    for fault in found:
        print(f"WRONG   {fault}")
    print(f"the schema of TFLite: {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
