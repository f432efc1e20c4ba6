#!/usr/bin/env python3
"""Write the node tests of the onnx package to a folder. Started by `cargo xtask oracles`, which runs them in one process.

A case is a model of one operator, or of the function that defines it (`_expanded`), with inputs and expected outputs. Left
out is what we never read: losses, 8-bit and smaller floats, integers of less than 8 bits, strings and images, sequences and
optional values, other domains, training, and random numbers. The operands that decide the shapes of results are constants
in what is written, and so are those without elements, as an extent of 0 that is declared of an input says that it is not
known; all others stay inputs. Where a run may find them as well, there is a second case, whose name ends in `.late`, with
such operands as inputs.
"""

import argparse
import re
import sys
import warnings
from pathlib import Path

import cases
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")

# Operands that decide a shape, or the axis along which something happens.
SHAPE_OPERANDS = {
    "AffineGrid": [1], "BlackmanWindow": [0], "CenterCropPad": [1], "Col2Im": [1, 2], "ConstantOfShape": [0],
    "CumProd": [1], "CumSum": [1], "DFT": [1, 2], "Expand": [1], "HammingWindow": [0], "HannWindow": [0], "Loop": [0, 1],
    "MaxUnpool": [2], "MelWeightMatrix": [0, 1], "OneHot": [1], "Pad": [1, 3], "Range": [0, 1, 2], "Reshape": [1],
    "Resize": [1, 2, 3], "STFT": [1, 3], "Slice": [1, 2, 3, 4], "Split": [1], "Squeeze": [1], "Tile": [1], "TopK": [1],
    "Unsqueeze": [1], "Upsample": [1], **{f"Reduce{name}": [1] for name in REDUCTIONS},
}  # fmt: skip

# Those of them that a run may find.
LATE_OPERANDS = {
    "ConstantOfShape": [0], "Expand": [1], "Loop": [0, 1], "Pad": [1], "Range": [0, 1, 2], "Reshape": [1],
    "Resize": [2, 3], "Slice": [1, 2], "Tile": [1], "TopK": [1], "Upsample": [1],
}  # fmt: skip

# Element types and operators that are out of scope, and names of cases of modes that are.
TYPES = {number for name, number in TensorProto.DataType.items()
         if name.startswith(("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2", "STRING"))}  # fmt: skip
OPERATORS = {"ImageDecoder", "NegativeLogLikelihoodLoss", "OptionalGetElement", "OptionalHasElement",
             "SoftmaxCrossEntropyLoss", "TfIdfVectorizer"}  # fmt: skip
NAMES = re.compile(r"^test_(bernoulli|nllloss|sce_|training_)|training_mode")
FIRST_OPERATOR_SET = 7
# Cases whose expected results have rounding errors of f32 beyond the suite's tolerance, where the exact result is 0.
ABSOLUTE = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}
EXPANDED = re.compile(r"_expanded(_ver\d+)?$")
# The cases in scope of the package's version that is pinned: of operators, and of functions that define them.
COUNTS = [1133, 371]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    with cases.folder(parser.parse_args().folder, __file__, onnx) as folder:
        if folder:
            write(folder)


def all_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the functions that compute what is expected
        from onnx.backend.test.loader import load_model_tests

        return load_model_tests(kind="node")


def in_scope(case):
    types = [value.type for value in (*case.model.graph.input, *case.model.graph.output)]
    return not (
        NAMES.search(case.name)
        or any(not kind.HasField("tensor_type") or kind.tensor_type.elem_type in TYPES for kind in types)
        or any(node.domain or node.op_type in OPERATORS for node in case.model.graph.node)
    )


def bound_inputs(model, operands):
    """The names of a model's inputs that are among the `operands` of their nodes."""
    names = {node.input[k] for node in model.graph.node for k in operands.get(node.op_type, [])
             if k < len(node.input)}  # fmt: skip
    return names & {value.name for value in model.graph.input}


def with_constants(model, tensors, bound):
    """The model with the inputs `bound` as constants, and the other inputs."""
    copy, inputs = onnx.ModelProto(), []
    copy.CopyFrom(model)
    del copy.graph.input[:]
    for info, tensor in zip(model.graph.input, tensors, strict=True):
        if info.name in bound:
            tensor.name = info.name
            copy.graph.initializer.append(tensor)
        else:
            copy.graph.input.append(info)
            inputs.append(tensor)
    return copy, inputs


def with_known_operator_set(model):
    """Models of an operator set before the first that we read, of operators that have not changed until then."""
    for opset in model.opset_import:
        if not opset.domain and opset.version < FIRST_OPERATOR_SET:
            nodes = model.graph.node
            if all(onnx.defs.get_schema(n.op_type, FIRST_OPERATOR_SET).since_version <= opset.version for n in nodes):
                opset.version = FIRST_OPERATOR_SET


def as_tensor(value):
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value))


def write(folder):
    all_of_them = all_cases()
    models = {case.name: case.model for case in all_of_them}
    counts = [0, 0]
    for case in filter(in_scope, all_of_them):
        # A function has the operands of the operator that it defines.
        plain = models.get(EXPANDED.sub("", case.name), case.model)
        bound = bound_inputs(plain, SHAPE_OPERANDS)
        for number, (given, expected) in enumerate(case.data_sets):
            given = [as_tensor(value) for value in given]
            empty = {info.name for info, tensor in zip(case.model.graph.input, given) if 0 in tensor.dims}
            model, inputs = with_constants(case.model, given, bound | empty)
            with_known_operator_set(model)
            name = case.name if number == 0 else f"{case.name}.{number}"
            late = bound_inputs(case.model, LATE_OPERANDS) - empty
            operators = [node.op_type for node in model.graph.node]
            only = operators[0] if len(operators) == 1 and plain is case.model else None
            tolerances = (case.rtol, max(case.atol, ABSOLUTE.get(name, 0)))
            folder.add(name, model, tolerances, only, inputs, [as_tensor(value) for value in expected])
            counts["_expanded" in name] += 1
            if late and plain is case.model:
                model, inputs = with_constants(case.model, given, (bound | empty) - late)
                with_known_operator_set(model)
                folder.add(f"{name}.late", model, tolerances, None, inputs, [as_tensor(value) for value in expected])
    if counts != COUNTS:
        sys.exit(f"the onnx package has {counts} cases in scope instead of {COUNTS}")


if __name__ == "__main__":
    main()
