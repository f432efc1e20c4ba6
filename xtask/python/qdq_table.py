"""What was found of Q/DQ files: as lines, and as a part of docs/oracles.md."""

from itertools import groupby

import numpy as np
import onnxruntime
import qdq
import qdq_faults

HEADING = "## Q/DQ files"

TEXT = """
`cargo xtask oracles --qdq --document` writes this section. Each Q/DQ file is run in ONNX Runtime {runtime} on the CPU, at its default
settings (*default*) and with optimizations off (*off*), and in OpenVINO {openvino}.

- *Steps* is the largest difference, in steps of the grid, between the codes of a tensor in the file and in `strait run`, if the
  layer that computes the tensor gets the same operands as in `strait run`. *Of* is the number of tensors that were compared.
- The other figures are SNRs in dB, of the output with the lowest SNR. *From float: ours* is the SNR of the results of `strait run`
  against the float model, and the next two columns are SNRs of the Q/DQ file in ONNX Runtime against the float model. The columns
  from *from ours* on are SNRs of the Q/DQ file against the results of `strait run`. *Same* means more than {same:.0f} dB.
- With optimizations off, ONNX Runtime computes exactly what the file says: sums in float32 between the grids. The target instead
  has integer sums and its own roundings.
- *OpenVINO f32* sets `INFERENCE_PRECISION_HINT` to `f32`. By default OpenVINO computes in bfloat16 on processors that have it.

For frozen TensorFlow graphs the columns *from float* are empty, because these runtimes cannot read the float model.

| model | target | steps | of | from float: ours | off | default | from ours: off | default | OpenVINO f32 | OpenVINO default |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"""

MISSES = """
All files have to meet three limits:

- *Steps*, as defined above, is at most 1.
- In ONNX Runtime, the SNR against the float model at default settings is at most 1 dB lower than with optimizations off. For frozen
  TensorFlow graphs, the SNR against `strait run` is used instead.
- For real models, the SNR against `strait run` is at least 30 dB, both in ONNX Runtime at default settings and in OpenVINO with
  float32.

These files miss a limit:

| model, target | figure | | why |
|---|--:|---|---|
"""

FAULTS = """
Some faults of the runtimes cannot be avoided in our files. Each of the following programs shows one:
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
