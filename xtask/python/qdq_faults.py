"""Faults of runtimes that no file can be written around. Each function is the reproduction that docs/oracles.md shows, and raises."""

import inspect
import textwrap

import numpy as np


def shared_weights():
    """ONNX Runtime: with the session option `session.x64quantprecision = "1"`, a file in which two layers share their weights is refused."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    names = {"w": np.full((4, 4, 1, 1), 127, np.int8), "s": np.float32(0.1), "z": np.uint8(128), "v": np.int8(0)}
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q0"]), helper.make_node("DequantizeLinear", ["w", "s", "v"], ["d"])]
    for layer in range(2):
        nodes.append(helper.make_node("DequantizeLinear", [f"q{layer}", "s", "z"], [f"x{layer}"]))
        nodes.append(helper.make_node("Conv", [f"x{layer}", "d"], [f"c{layer}"]))
        nodes.append(helper.make_node("QuantizeLinear", [f"c{layer}", "s", "z"], [f"q{layer + 1}"]))
    ports = [[helper.make_tensor_value_info(name, kind, [1, 4, 2, 2])] for name, kind in (("x", TensorProto.FLOAT), ("q2", TensorProto.UINT8))]
    graph = helper.make_graph(nodes, "g", *ports, [numpy_helper.from_array(value, name) for name, value in names.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def moved_pair():
    """ONNX Runtime: a file of operator set 21 with int8 activations is refused if the result of a Reshape is not quantized."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    names = {"s": np.float32(0.1), "z": np.int8(3), "shape": np.array([4, 1])}
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"])]
    nodes.append(helper.make_node("Reshape", ["d", "shape"], ["r"]))
    nodes.append(helper.make_node("Softmax", ["r"], ["y"], axis=0))
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name, shape in (("x", [2, 2]), ("y", [4, 1]))]
    graph = helper.make_graph(nodes, "g", *ports, [numpy_helper.from_array(value, name) for name, value in names.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def half_way():
    """OpenVINO: every fourth of the pixels x / 127.5 - 1, which lie half way between two codes, gets another code than ONNX defines."""
    import openvino
    from onnx import TensorProto, helper, numpy_helper
    pixels, names = np.float32([np.arange(256) / 127.5 - 1]), {"s": np.float32(2 / 255), "z": np.uint8(128)}
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 256])] for name in "xy"]
    graph = helper.make_graph(nodes, "g", *ports, [numpy_helper.from_array(value, name) for name, value in names.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    core = openvino.Core()
    codes = core.compile_model(core.read_model(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(pixels)[0] / names["s"]
    assert np.array_equal(np.rint(codes), np.clip(np.rint(pixels / names["s"]), -128, 127))


FAULTS = [shared_weights, moved_pair, half_way]


def fixed():
    """The faults that are there no more."""
    return [fault.__doc__ for fault in FAULTS if not raises(fault)]


def raises(fault):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    try:
        fault()
    except Exception:
        return True
    return False


def document():
    """Each fault with its reproduction."""
    text = ""
    for fault in FAULTS:
        source = inspect.getsource(fault).split('"""', 2)[2]
        text += f"\n{fault.__doc__}\n\n```python\nimport numpy as np\n{textwrap.dedent(source).strip()}\n```\n"
    return text
