"""What ONNX Runtime makes of the models in tests/quantized/saturation, with its optimizations off.

Behind the line `---` each file has the outputs for the samples of the test, which is what the test expects. Run as a program it
writes them; `cargo xtask oracles` holds them against ONNX Runtime.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).parents[2] / "tests" / "quantized" / "saturation"
SAMPLES = 4
TYPES = {"f32": "f4", "i8": "i1", "u8": "u1", "i16": "i2", "i64": "i8"}
LINE = "---\n"


def typed(text):
    elem, _, dims = text.partition("[")
    return TYPES[elem.strip()], [int(dim) for dim in dims.rstrip("]").split(",") if dim]


def attribute(text):
    name, value = text.split("=")
    return name, int(value)


def model(text):
    nodes, inputs, outputs, constants, opset = [], [], [], [], 13
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word in ("", ";"):
            continue
        if word == "opset":
            opset = int(rest)
        elif word == "input":
            name, ty = rest.split(": ")
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, typed(ty)[1]))
        elif word == "output":
            outputs.append(helper.make_tensor_value_info(rest, TensorProto.FLOAT, None))
        elif word == "const":
            head, values = rest.split(" = ")
            name, ty = head.split(": ")
            dtype, shape = typed(ty)
            constants.append(numpy_helper.from_array(np.array(values.split(), dtype).reshape(shape), name))
        else:
            result, call = line.strip().split(" = ")
            call, _, attributes = call.partition(" {")
            op, operands = call.rstrip(")").split("(")
            named = dict(attribute(text) for text in attributes.rstrip("}").split("; ") if text)
            nodes.append(helper.make_node(op, operands.split(", "), [result], name=result, **named))
    graph = helper.make_graph(nodes, "form", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def samples(shape):
    count = SAMPLES * int(np.prod(shape))
    numbers = (np.arange(count) * 37 % 101).astype("f4") / np.float32(50) - np.float32(1)
    return numbers.reshape([SAMPLES, *shape])


def outputs(text):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model(text).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (given,) = session.get_inputs()
    runs = [session.run(None, {given.name: sample}) for sample in samples(given.shape)]
    names = [output.name for output in session.get_outputs()]
    return {name: np.concatenate([run[at] for run in runs]).ravel() for at, name in enumerate(names)}


def parts(path):
    text, _, recorded = path.read_text().partition(LINE)
    recorded = dict(line.split(": ") for line in recorded.splitlines())
    return text, {name: np.array(values.split(), "f4") for name, values in recorded.items()}


def check(report):
    for path in sorted(FOLDER.glob("*.txt")):
        text, recorded = parts(path)
        found = outputs(text)
        same = found.keys() == recorded.keys()
        off = max(float(np.abs(found[name] - recorded[name]).max()) for name in recorded) if same else np.inf
        report.expect(off < 1e-5, f"saturation {path.stem}: the recorded outputs are those of ONNX Runtime, {off:.1e} off")


def main():
    for path in sorted(FOLDER.glob("*.txt")):
        text, _ = parts(path)
        lines = (f"{name}: {' '.join(f'{value:.7g}' for value in values)}\n" for name, values in outputs(text).items())
        path.write_text(text + LINE + "".join(lines))


if __name__ == "__main__":
    sys.exit(main())
