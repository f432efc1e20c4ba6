#!/usr/bin/env python3
"""Write TFLite files of the graphs below tests/rows/generic-int8, in each type of activations, and of networks of many architectures with
random weights (`--zoo`), and run them in LiteRT's reference kernels. Started by `cargo xtask oracles --written`.

Each integer tensor of sample 0 and the outputs of two samples have to have our bytes. `tflite_written.py` says what may differ.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import processes
from qdq_zoo import drawn
from tflite_written import LIBRARY, Found, codes_of, inner, interpreter

SAMPLES = 8  # for calibration
COMPARED = 2  # samples whose outputs are compared
# The types that a row's graph is compiled in, by what its name says.
TYPES = {"int16": ["int16"], "unsigned": ["uint8"], "uint8": ["uint8"]}


def made(arguments, name, work):
    """The model of a skeleton of the zoo, and values of its inputs."""
    model, random = onnx.load(arguments.zoo / f"{name}.skeleton.onnx"), np.random.default_rng(0)
    statistics = json.loads((arguments.zoo / f"{name}.stats.json").read_text())
    for tensor in model.graph.initializer:
        if tensor.name in statistics:
            mean, spread = statistics[tensor.name]
            tensor.raw_data = random.normal(mean, spread, tuple(tensor.dims)).astype("<f4").tobytes()
    onnx.save(model, work / "model.onnx")
    inputs = json.loads((arguments.zoo / "inputs.json").read_text())[name]
    return {key: drawn(random, how)[:SAMPLES] for key, how in inputs.items()}


def graph(arguments, name, work):
    """The model of a graph of tests/rows, and values of its inputs."""
    file = arguments.repository / "tests" / "rows" / "generic-int8" / f"{name}.strait"
    processes.check([arguments.rewrite, file, work / "model.onnx"], work / "rewrite.log")
    random, values = np.random.default_rng(0), {}
    for value in onnx.load(work / "model.onnx").graph.input:
        kind = value.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        # An axis of extent 1 in front is that of the samples.
        shape = (SAMPLES, *shape[shape[0] == 1 :])
        if kind.elem_type == onnx.TensorProto.FLOAT:
            values[value.name] = random.normal(size=shape).astype(np.float32)
        else:
            values[value.name] = random.integers(0, 2, shape).astype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return values


def held(arguments, work, values, types):
    """Compiles the model in `work` with activations of a type, and compares."""
    np.savez(work / "calibration.npz", **values)
    folder, files = work / "build", []
    for at, (key, stored) in enumerate(values.items()):
        np.save(work / f"{at}.npy", stored[:COMPARED])
        files.append(f"{key}={work / f'{at}.npy'}")
    sets = [("output.emit", '["tflite"]'), ("quantize.activations.type", f'"{types}"')]
    if types == "uint8":
        sets.append(("quantize.weights.type", '"uint8"'))
    command = [arguments.strait, "compile", "--model", work / "model.onnx", "--target", "generic-int8", "--out", folder]
    command += ["--calibration", work / "calibration.npz"]
    processes.check([*command, *(part for key, value in sets for part in ("--set", f"{key}={value}"))], work / "compile.log")
    fed = [part for file in files for part in ("--input", file)]
    processes.check([arguments.strait, "run", folder, *fed, "--output", f"{work / 'outputs'}/"], work / "run.log")
    index = json.loads((work / "outputs" / "index.json").read_text())["outputs"]
    ours = [np.load(work / "outputs" / entry["file"]) for entry in index]
    run, found = interpreter(folder / "model.tflite", True), Found()
    given = {detail["name"]: detail for detail in run.get_input_details()}
    for sample in range(COMPARED):
        for key, stored in values.items():
            detail = given[key]
            run.set_tensor(detail["index"], stored[sample].reshape(detail["shape"]).astype(detail["dtype"]))
        run.invoke()
        for mine, detail in zip(ours, run.get_output_details(), strict=True):
            exact, own = run.get_tensor(detail["index"]), mine[sample]
            off = np.abs(exact.astype(np.float64).reshape(own.shape) - own)
            found.elements += off.size
            found.differing += int((off > 0).sum())
            found.largest = max(found.largest, float(off.max(initial=0.0)))
        if sample == 0:
            inner(run, codes_of(folder, arguments.values, files, work), found)
    kinds = {detail["index"]: detail["dtype"] for detail in run.get_tensor_details()}
    operators = run._get_ops_details()
    reals = {operator["op_name"] for operator in operators if kinds[operator["outputs"][0]] == np.float32}
    return found, len(operators), reals & LIBRARY


def told(arguments, name, values_of, types):
    """Prints what was found for one model. Returns true if something differs that must not."""
    work = arguments.work / name.replace(", ", "-")
    work.mkdir(parents=True, exist_ok=True)
    try:
        found, count, library = held(arguments, work, values_of(work), types)
    except processes.Failed as error:
        # What TFLite cannot express is an error that says so.
        is_foreign = "[foreign]" in str(error)
        print(f"{'absent ' if is_foreign else 'WRONG  '} {name}: {str(error).strip().splitlines()[-1]}")
        return not is_foreign
    for tensor, distance, codes in found.wrong:
        print(f"WRONG   {name}: {codes} codes of {tensor} differ, by {distance} at most")
    for tensor, codes in found.rounded:
        print(f"        {name}: {codes} codes of {tensor} are rounded to the neighbour, behind real numbers")
    behind = f", behind {', '.join(sorted(library))} of real numbers" if library else ""
    print(
        f"{name}: {count} operators, {found.tensors - found.unequal} of {found.tensors} integer tensors of sample 0 equal; "
        f"{found.differing} of {found.elements} outputs differ, by {found.largest:.2g} at most{behind}",
        flush=True,
    )
    return bool(found.wrong) or bool(found.differing and not library)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("strait", "values", "rewrite"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("work", "repository"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--zoo", type=Path, help="the folder of the networks")
    parser.add_argument("--only", default="", help="names that contain this")
    arguments = parser.parse_args()
    wrong = 0
    for file in sorted((arguments.repository / "tests" / "rows" / "generic-int8").glob("*.strait")):
        types = next((types for word, types in TYPES.items() if word in file.stem), ["int8", "int16"])
        for own in types:
            name = f"{file.stem}, {own}"
            if arguments.only in name:
                wrong += told(arguments, name, lambda work, file=file: graph(arguments, file.stem, work), own)
    for skeleton in sorted(arguments.zoo.glob("*.skeleton.onnx")) if arguments.zoo else []:
        name = skeleton.name.removesuffix(".skeleton.onnx")
        if arguments.only in name:
            wrong += told(arguments, name, lambda work, name=name: made(arguments, name, work), "int8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
