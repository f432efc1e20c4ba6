"""The deploy model that the target `ascend` writes, node by node in numpy.

It is computed after the descriptions of AscendQuant, AscendDequant and AscendAntiQuant in CANN's documents; ONNX's own operators are
those of the onnx package.
"""

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.reference

F32 = np.float32


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


class Deploy:
    """The deploy model."""

    def __init__(self, path):
        self.graph = onnx.load(path).graph
        self.opset = onnx.load(path, load_external_data=False).opset_import
        self.constants = {t.name: onnx.numpy_helper.to_array(t) for t in self.graph.initializer}
        self.others = {}

    def run(self, inputs):
        """{value: array}, sums and codes among them."""
        values = {**self.constants, **inputs}
        self.zeros, self.counts = {}, {}
        for node in self.graph.node:
            operands = [values[name] if name else None for name in node.input]
            for name, result in zip(node.output, self.compute(node, operands)):
                values[name] = result
        return values

    def compute(self, node, operands):
        first = operands[0] if operands else None
        known = attributes(node)
        if node.op_type == "AscendQuant":
            assert known["dst_type"] == b"INT8"
            self.zeros[node.output[0]] = int(known["offset"])
            return [quantized(first, known)]
        if node.op_type == "AscendAntiQuant":
            # The parser of ONNX models turns the offset's sign; the operator adds it.
            return [((first.astype(F32) + F32(-known["offset"])) * F32(known["scale"])).astype(F32)]
        if node.op_type == "AscendDequant":
            assert known["dtype"] == 0
            factor = factors(operands[1]) / F32(self.counts.get(node.input[0], 1))
            axis = 1 if factor.size > 1 else 0
            shape = [-1 if a == axis and factor.size > 1 else 1 for a in range(first.ndim)]
            return [first.astype(F32) * factor.reshape(shape)]
        if first is not None and first.dtype == np.int8:
            # Padding reads as real zero, and the zero point leaves the sums.
            real = first.astype(np.int64) - self.zeros[node.input[0]]
            if node.op_type == "Conv":
                return [sums(convolution(real, operands, known))]
            if node.op_type in ("Gemm", "MatMul"):
                return [sums(product(real, operands))]
            if node.op_type == "AveragePool":
                size = known["kernel_shape"]
                self.counts[node.output[0]] = int(np.prod(size))
                return [sums(windows(real, size, known).sum(axis=(-1, -2)))]
            raise ValueError(f"{node.name}: {node.op_type} on codes")
        if first is not None and first.dtype == np.int32 and node.op_type == "Add":
            return [sums(first.astype(np.int64) + operands[1])]
        return self.standard(node, operands)

    def standard(self, node, operands):
        """An operator of ONNX's own, on numbers."""
        model = self.others.get(node.name)
        present = [name for name in node.input if name]
        if model is None:
            untyped = [onnx.helper.make_value_info(n, onnx.TypeProto()) for n in dict.fromkeys(present)]
            results = [onnx.helper.make_value_info(n, onnx.TypeProto()) for n in node.output]
            graph = onnx.helper.make_graph([node], "node", untyped, results)
            model = onnx.reference.ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=self.opset))
            self.others[node.name] = model
        return model.run(None, {name: value for name, value in zip(node.input, operands) if name})


def quantized(x, known):
    assert x.dtype == F32
    code = np.rint(x * F32(known["scale"]) + F32(known["offset"]))
    return np.clip(code, -128, 127).astype(np.int8)


def factors(words):
    """Bits 0 to 31 of each word are those of a float32; no shift and no offset of the weights here."""
    assert words.dtype == np.uint64 and not np.any(words >> np.uint64(32))
    return words.astype(np.uint32).view(F32)


def sums(x):
    assert x.min() >= -(2**31) and x.max() < 2**31
    return x.astype(np.int32)


def windows(x, size, known):
    """[N, C, H', W', h, w]; padding reads 0."""
    (top, left, bottom, right), strides = known.get("pads") or [0] * 4, known.get("strides") or [1, 1]
    rates = known.get("dilations") or [1, 1]
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    extent = tuple(1 + d * (s - 1) for d, s in zip(rates, size))
    view = np.lib.stride_tricks.sliding_window_view(x, extent, axis=(2, 3))
    return view[:, :, :: strides[0], :: strides[1], :: rates[0], :: rates[1]]


def convolution(x, operands, known):
    weight, groups = operands[1].astype(np.float64), known["group"]
    outputs, inputs = weight.shape[:2]
    view = windows(x, weight.shape[2:], known).astype(np.float64)
    n, _, height, width = view.shape[:4]
    # A sum of products of codes stays far below 2^53, so that float64 adds it exactly.
    view = view.transpose(0, 2, 3, 1, 4, 5).reshape(n, height, width, groups, -1)
    weight = weight.reshape(groups, outputs // groups, -1)
    result = np.matmul(view.transpose(0, 3, 1, 2, 4).reshape(n, groups, height * width, -1), weight.transpose(0, 2, 1))
    result = result.transpose(0, 1, 3, 2).reshape(n, outputs, height, width).astype(np.int64)
    return result + (operands[2].astype(np.int64).reshape(1, -1, 1, 1) if len(operands) > 2 else 0)


def product(x, operands):
    result = (x.astype(np.float64) @ operands[1].astype(np.float64)).astype(np.int64)
    return result + (operands[2].astype(np.int64) if len(operands) > 2 else 0)
