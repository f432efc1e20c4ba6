#!/usr/bin/env python3
"""Make uneven.onnx of the digits model: a function that is the same in float, and hard to quantize.

One channel between the depthwise and the pointwise convolution has values sixty times as large as before, and the weights that read
it are a sixtieth. So the other fifteen channels share a sixtieth of the codes. Run it from the root of the repository, with onnx.
"""

import onnx
from onnx import numpy_helper

LARGER = 60

model = onnx.load("models/digits/digits.onnx")
for tensor in model.graph.initializer:
    values = numpy_helper.to_array(tensor).copy()
    if tensor.name in ("block.norm1.weight", "block.norm1.bias"):
        values[0] *= LARGER
    elif tensor.name == "block.pointwise.weight":
        values[:, 0] /= LARGER
    else:
        continue
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
onnx.save(model, "tests/days/uneven.onnx")
