"""What was found of Q/DQ files: as lines, and as a part of docs/oracles.md."""

from itertools import groupby

import numpy as np
import onnxruntime
import qdq
import qdq_faults

HEADING = "## Q/DQ files"

TEXT = """
Written by `cargo xtask oracles --qdq --document`. Each file is run in ONNX Runtime {runtime} on the CPU, at its default settings and
with optimizations off, and in OpenVINO {openvino}. *Steps* is the largest difference of a quantized tensor to our integers, where the
layer in front of it is fed with our integers; *of* says how many tensors were held so. Figures in dB are those of the worst output: from
the float model, and from what `strait run` computes; *same* stands for more than {same:.0f}. *Off* is the file itself: sums in float32
between its grids, where the target has sums of integers and roundings of its own. OpenVINO computes with float32 where
`INFERENCE_PRECISION_HINT` is `f32`; on processors that have bfloat16 its default is that. Of frozen graphs of TensorFlow there is no
float model that these runtimes read.

| model | target | steps | of | from float: ours | off | default | from ours: off | default | OpenVINO f32 | OpenVINO default |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"""

MISSES = """
The marks of all files: at most a step; default settings cost at most 1 dB; real models are at least 30 dB from `strait run` in ONNX
Runtime, and in OpenVINO with float32. Files that miss one:

| model, target | figure | | why |
|---|--:|---|---|
"""

FAULTS = """
What is a runtime's own and cannot be written around:
"""


def decibel(value):
    if value is None:
        return ""
    return "same" if value > 60 else f"{value:.1f}"


def line(found):
    figures = [f"{found.off} steps of {found.layers}/{found.of} layers" if found.off is not None else "", f"default {decibel(found.default)} dB"]
    figures += [f"off {decibel(found.plain)}", f"ours {decibel(found.ours)}", f"off {decibel(found.exact)}"]
    figures += [f"OpenVINO {precision} {decibel(value)}" for precision, value in found.openvino.items()]
    start = "FAILED  " if found.faults else "ok      "
    known = [f"known: {value:.4g} {qdq.MARKS[miss.mark].text}" for miss, value in found.misses]
    return start + f"{found.name}: " + ", ".join(figures) + "".join(f"\n        {text}" for text in [*found.faults, *known])


def document(found, core):
    """The part of the page."""
    openvino = "absent"
    if core is not None:
        import openvino as package

        openvino = package.__version__.split("-")[0]
    text = HEADING + "\n" + TEXT.format(runtime=onnxruntime.__version__, openvino=openvino, same=qdq.SAME)
    shown = [one for one in found if not one.name.startswith("rows")]
    rows = [one for one in found if one.name.startswith("rows")]
    for one in shown:
        model, target = one.name.split(", ")
        figures = [one.integer, one.plain, one.default, one.exact, one.ours, one.openvino.get("f32"), one.openvino.get("default")]
        cells = [model, target, str(one.off), str(one.layers), *map(decibel, figures)]
        text += f"| {' | '.join(cells)} |\n"
    for target, group in groupby(rows, lambda one: one.name.split(", ")[1]):
        group = list(group)
        steps, layers = max(one.off or 0 for one in group), sum(one.layers for one in group)
        worst = min((one.ours for one in group if one.ours is not None), default=np.inf)
        text += f"| {len(group)} graphs of tests/rows | {target} | {steps} | {layers} |  |  |  |  | {decibel(worst)} |  |  |\n"
    text += MISSES
    for one in found:
        for miss, value in one.misses:
            text += f"| {one.name} | {value:.4g} | {qdq.MARKS[miss.mark].text} | {miss.why} |\n"
    return text + FAULTS + qdq_faults.document()
