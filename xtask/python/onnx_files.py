#!/usr/bin/env python3
"""Compare our reader and writer of ONNX with the onnx package and ONNX Runtime. Started by `cargo xtask oracles`.

* The type of every value that we read is the one that onnx.shape_inference finds.
* A model that we read and write again is valid and gives the same outputs in ONNX Runtime.
* The node tests of the onnx package, each a model of one operator with its expected outputs, give these outputs after we
  have read and written them, or are refused with a reason.
* So do operators of older operator sets, which the node tests no longer have; here ONNX Runtime runs the original too.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import peers
from node_tests import SHAPE_OPERANDS, all_cases, bound_inputs, with_constants
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidGraph, NotImplemented
from onnx import TensorProto, helper, numpy_helper, shape_inference

ELEMENTS = {1: "f32", 2: "u8", 3: "i8", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64"}
LEAST_NODE_TESTS = 400  # that we read; the rest is about other operators, element types, or operands computed at run time
FOUR_BITS = (TensorProto.INT4, TensorProto.UINT4)
# ONNX Runtime has no kernel for these types, or no array of them.
RUNTIME_LACKS = (NotImplemented, InvalidGraph, InvalidArgument, Fail, RuntimeError)
RELATIVE, ABSOLUTE = 1e-3, 1e-5  # tolerances of the node tests, and of ours

# Operands that become constants here, though they decide no shape: so what we write has them as attributes, too.
KNOWN_OPERANDS = {**SHAPE_OPERANDS, "Clip": [1, 2], "Dropout": [1, 2], "Max": [1], "Min": [1], "Pad": [1, 2, 3]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("types", "rewrite", "repository", "work"):
        parser.add_argument(f"--{option}", type=Path, required=True)
    parser.add_argument("--shared", type=Path)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    models = [arguments.repository / "models" / "digits" / "digits.onnx"]
    if arguments.shared:
        models += sorted((arguments.shared / "models").glob("*.onnx"))
    failures = [failure for path in models for failure in same_types(arguments, path) + same_outputs(arguments, path)]
    failures += node_tests(arguments) + older_operator_sets(arguments)
    for failure in failures:
        print(f"FAILED  {failure}")
    sys.exit(1 if failures else 0)


def same_types(arguments, path):
    run = subprocess.run([arguments.types, path], capture_output=True, text=True)
    if run.returncode:
        return [f"{path.name}: {run.stderr.strip()}"]
    model = onnx.load(path)
    del model.graph.value_info[:]
    graph = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    expected = {i.name: f"{ELEMENTS[i.data_type]} [{','.join(map(str, i.dims))}]" for i in graph.initializer}
    for info in [*graph.input, *graph.output, *graph.value_info]:
        tensor = info.type.tensor_type
        dims = ",".join(str(d.dim_value or d.dim_param) for d in tensor.shape.dim)
        expected[info.name] = f"{ELEMENTS[tensor.elem_type]} [{dims}]"
    found = dict(line.split(" ", 1) for line in run.stdout.splitlines())
    wrong = [f"{path.name}: {name} is {found[name]}, not {expected.get(name)}" for name in found
             if found[name] != expected.get(name)]  # fmt: skip
    print(f"ok      {path.name}: {len(found) - len(wrong)} of {len(found)} types are those of onnx", flush=True)
    return wrong


def rewrite(arguments, model):
    """The model after our reader and writer, or the reason why it is not read."""
    source, target = arguments.work / "source.onnx", arguments.work / "rewritten.onnx"
    onnx.save(model, source)
    run = subprocess.run([arguments.rewrite, source, target], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"our program broke: {run.stderr}")
    if run.returncode:
        return None, run.stderr.strip()
    # Without its shape inference: up to operator set 21 that counts windows which start in the padding, which the node
    # tests, ONNX Runtime and we do not.
    onnx.checker.check_model(str(target))
    return target, None


def same_outputs(arguments, path):
    target, reason = rewrite(arguments, onnx.load(path))
    if reason:
        return [f"{path.name}: {reason}"]
    original, ours = peers.session(path), peers.session(target)
    generator = np.random.default_rng(1)
    feeds = {
        i.name: generator.standard_normal([d if isinstance(d, int) else 1 for d in i.shape]).astype(np.float32)
        for i in original.get_inputs()
    }
    wrong = differences(ours.run(None, feeds), original.run(None, feeds))
    if not wrong:
        print(f"ok      {path.name}: the same outputs after reading and writing", flush=True)
    return [f"{path.name}: {wrong}"] if wrong else []


def differences(found, expected):
    """What is different, if anything."""
    for ours, theirs in zip(found, expected, strict=True):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"{ours.dtype} {ours.shape} instead of {theirs.dtype} {theirs.shape}"
        ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
        if not np.allclose(ours, theirs, RELATIVE, ABSOLUTE, equal_nan=True):
            return f"a difference of {np.abs(ours - theirs).max()}"
    return None


def node_tests(arguments):
    tests = [test for test in all_cases() if test.model is not None and test.data_sets]
    equal, others, refused, apart, wrong = 0, 0, 0, 0, []
    for test in tests:
        if any(value.type.tensor_type.elem_type in FOUR_BITS for value in (*test.model.graph.input, *test.model.graph.output)):
            apart += 1
            continue
        try:
            tensors = [numpy_helper.from_array(np.asarray(value)) if not isinstance(value, TensorProto) else value
                       for value in test.data_sets[0][0]]  # fmt: skip
            expected = [np.asarray(value) if not isinstance(value, TensorProto) else numpy_helper.to_array(value)
                        for value in test.data_sets[0][1]]  # fmt: skip
        except (TypeError, ValueError, RuntimeError):
            refused += 1  # sequences and optional values, which are no tensors
            continue
        model, inputs = with_constants(test.model, tensors, bound_inputs(test.model, KNOWN_OPERANDS))
        feeds = {info.name: numpy_helper.to_array(tensor) for info, tensor in zip(model.graph.input, inputs, strict=True)}
        target, reason = rewrite(arguments, model)
        if reason:
            refused += 1
            continue
        try:
            session = peers.session(target)
            used = {i.name for i in session.get_inputs()}
            found = session.run(None, {name: value for name, value in feeds.items() if name in used})
        except RUNTIME_LACKS:
            apart += 1
            continue
        difference = differences(found, expected)
        if difference and differences(found, peers.session(model.SerializeToString()).run(None, feeds)) is None:
            others += 1
            continue
        equal += difference is None
        wrong += [f"{test.name}: {difference}"] if difference else []
    print(f"ok      node tests: {equal} give the expected outputs, {others} those that ONNX Runtime gives for the original "
          f"and the suite does not expect, {refused} are refused, {apart} have types that "
          "ONNX Runtime hands to nobody, or operators that it has not for these types", flush=True)  # fmt: skip
    return wrong + ([f"only {equal} node tests are read"] if equal < LEAST_NODE_TESTS else [])


def floats(*values):
    return np.array(values, np.float32)


def ints(*values):
    return np.array(values, np.int64)


def older_cases(generator):
    """Operator set, operator, shape of the operand, attributes, constants behind it, number of results."""

    def weight(*shape):
        return generator.standard_normal(shape).astype(np.float32)

    yield from (
        (7, "Softmax", [2, 3, 4, 5], {}, []),
        (11, "Softmax", [2, 3, 4, 5], {"axis": 2}, []),
        (11, "Softmax", [2, 3, 4, 5], {"axis": -1}, []),
        (9, "Softmax", [2, 3, 1, 1], {"axis": 1}, []),
        (9, "Softmax", [2, 1, 6, 1], {"axis": 1}, []),
        (9, "Softmax", [2, 3, 4], {"axis": 0}, []),
        (11, "Squeeze", [1, 3, 1, 4], {"axes": [0, 2]}, []),
        (11, "Squeeze", [1, 3, 1, 4], {}, []),
        (11, "Unsqueeze", [3, 4], {"axes": [0, -1]}, []),
        (7, "Clip", [3, 4], {"min": -0.5, "max": 0.5}, []),
        (7, "Clip", [3, 4], {"max": 0.5}, []),
        (11, "Clip", [3, 4], {}, [None, np.float32(0.3)]),
        (7, "Pad", [2, 3, 4], {"pads": [0, 1, 2, 0, -1, 1], "value": 1.5, "mode": "constant"}, []),
        (10, "Pad", [2, 3, 4], {"pads": [0, 1, 2, 0, 1, 1], "mode": "reflect"}, []),
        (13, "Pad", [2, 3, 4], {"mode": "edge"}, [ints(0, 1, 2, 0, 1, 1)]),
        (7, "Slice", [5, 6, 7], {"starts": [1, -3], "ends": [1000, -1], "axes": [0, 2]}, []),
        (7, "Slice", [5, 6, 7], {"starts": [1, 2, 3], "ends": [4, 4, 4]}, []),
        (10, "Slice", [5, 6, 7], {}, [ints(-1, 0), ints(-1000, 5), ints(1, 2), ints(-2, 2)]),
        (10, "Slice", [5, 6, 7], {}, [np.array([1], np.int32), np.array([4], np.int32)]),
        (7, "Upsample", [1, 2, 3, 4], {"scales": [1.0, 1.0, 2.0, 3.0], "mode": "nearest"}, []),
        (9, "Upsample", [1, 2, 3, 4], {"mode": "nearest"}, [floats(1, 1, 2, 2)]),
        (9, "Upsample", [1, 2, 3, 4], {"mode": "linear"}, [floats(1, 1, 2, 2)]),
        (10, "Resize", [1, 2, 3, 4], {"mode": "nearest"}, [floats(1, 1, 2, 2)]),
        (10, "Resize", [1, 2, 6, 4], {"mode": "nearest"}, [floats(1, 1, 0.5, 0.5)]),
        (10, "Resize", [1, 2, 3, 4], {"mode": "linear"}, [floats(1, 1, 2, 2)]),
        (11, "ReduceSum", [2, 3, 4], {"axes": [1], "keepdims": 0}, []),
        (11, "ReduceMax", [2, 3, 4], {"axes": [-1]}, []),
        (11, "ReduceMean", [2, 3, 4], {}, []),
        (7, "Dropout", [2, 3], {"ratio": 0.3}, []),
        (12, "Dropout", [2, 3], {}, [np.float32(0.3)]),
        (7, "BatchNormalization", [2, 3, 4, 4], {"epsilon": 1e-3, "momentum": 0.9},
         [floats(1, 2, 3), floats(0.1, 0.2, 0.3), floats(0.5, 0, -0.5), floats(1, 2, 0.5)]),
        (11, "Split", [2, 6], {"axis": 1, "split": [1, 2, 3]}, [], 3),
        (11, "Split", [2, 6], {"axis": 1}, [], 3),
        (18, "Split", [2, 7], {"axis": 1, "num_outputs": 3}, [], 3),
        (7, "Gemm", [3, 4], {"transA": 1, "alpha": 0.5, "beta": 2.0}, [weight(3, 5), floats(1, 2, 3, 4, 5)]),
        (11, "Gemm", [3, 4], {"alpha": 0.5}, [weight(4, 5)]),
        (12, "Pow", [3, 4], {}, [ints(2)]),
        (8, "Sum", [3, 4], {}, [floats(1, 2, 3, 4), np.float32(3)]),
        (11, "Gather", [3, 4], {"axis": 0}, [np.array(2, np.int32)]),
        (7, "Transpose", [3, 4, 5], {}, []),
        (10, "MaxPool", [1, 2, 6, 6], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, []),
        (19, "AveragePool", [1, 2, 8, 8], {"kernel_shape": [3, 3], "dilations": [2, 2]}, []),
        (11, "Conv", [1, 2, 9], {}, [weight(3, 2, 3)]),
        (11, "Conv", [1, 2, 5, 5, 5], {}, [weight(3, 2, 3, 3, 3)]),
    )  # fmt: skip
    for padding in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        for stride, size, extent in ((2, 3, 7), (2, 3, 8), (3, 2, 7), (1, 4, 9), (1, 3, 5)):
            window = {"auto_pad": padding, "strides": [stride] * 2}
            yield 11, "Conv", [1, 2, extent, extent], window, [weight(3, 2, size, size)]
            window["kernel_shape"] = [size] * 2
            yield 11, "MaxPool", [1, 2, extent, extent], window, []
            yield 7, "AveragePool", [1, 2, extent, extent], {**window, "count_include_pad": 1}, []


def older_operator_sets(arguments):
    generator = np.random.default_rng(2)
    equal, wrong = 0, []
    for opset, operator, shape, attributes, constants, *results in older_cases(generator):
        names = [f"c{k}" if value is not None else "" for k, value in enumerate(constants)]
        outputs = [f"y{k}" for k in range(*(results or [1]))]
        tensors = [numpy_helper.from_array(value, name) for name, value in zip(names, constants) if name]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        inputs += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in tensors]
        typeless = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        node = helper.make_node(operator, ["x", *names], outputs, **attributes)
        graph = helper.make_graph([node], "test", inputs, typeless, tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 3 if opset < 9 else 8
        case = f"{operator} of operator set {opset} on {shape} with {attributes}"
        target, reason = rewrite(arguments, model)
        if reason:
            wrong.append(f"{case}: {reason}")
            continue
        feeds = {"x": generator.standard_normal(shape).astype(np.float32)}
        original = peers.session(arguments.work / "source.onnx")
        difference = differences(peers.session(target).run(None, feeds), original.run(None, feeds))
        equal += difference is None
        wrong += [f"{case}: {difference}"] if difference else []
    print(f"ok      older operator sets: {equal} give the outputs of the original", flush=True)
    return wrong


if __name__ == "__main__":
    main()
