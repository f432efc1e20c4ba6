#!/usr/bin/env python3
"""Run the ONNX files of quantized operators that we write in ONNX Runtime, and hold them against `strait run`. Started by
`cargo xtask oracles --operators`.

Each operator on codes gets the codes of sample 0 that we compute for its operands, and has to give our codes. Float operators up to
the next QuantizeLinear get them, too: there, codes may be off by one, and each tensor with such codes is listed. The outputs of many
samples are compared end to end, without optimizations and at default settings; what a model computes in float lies between, so
outputs may differ where there is a float operator, and are counted. Without VNNI, products of uint8 and int8 saturate to 16 bits
on x86, and nothing is compared.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import batches
import figures
import numpy as np
import onnx
import onnxruntime
import processes
from models import MODELS
from onnx import TensorProto, helper
from qoperator_islands import CODES, MOST, rounded

FEW = ["mlperf_resnet8", "mlperf_kws", "mlperf_ad"]
MANY = 200  # samples of which the outputs are compared
FEWER = 20  # of large networks
LARGE = ["yolox_nano", "mobilenet_v2_1.0_224", "squeezenet1.1", "cifar_resnet56", "kwt1_transformer"]
ON_REALS = {"QuantizeLinear", "DequantizeLinear"}
MOVES = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity", "Slice", "Concat", "Split", "Gather", "Expand"}
FILE = "model.qoperator.onnx"


def has_vnni():
    flags = Path("/proc/cpuinfo")
    words = set(flags.read_text().split()) if flags.exists() else set()
    return bool(words & {"avx512_vnni", "avx_vnni"})


def session(model, optimized):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@dataclass
class Found:
    tensors: int = 0
    wrong: list = field(default_factory=list)
    absent: list = field(default_factory=list)
    elements: int = 0
    differing: int = 0
    default_differing: int = 0
    signal: float = 0.0
    noise: float = 0.0
    floats: set = field(default_factory=set)
    behind_floats: int = 0  # codes of QuantizeLinear behind float operators
    rounded: list = field(default_factory=list)


def zero_points(model):
    """The zero point of each tensor of codes that an operator makes, by its position among the operands of this operator."""
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    last = {"QLinearConv": 7, "QGemm": 8}
    zeros = of_tables(model, constants)
    for node in model.graph.node:
        if node.op_type.startswith("QLinear") or node.op_type in ("QGemm", "QuantizeLinear"):
            zeros[node.output[0]] = int(constants[node.input[last.get(node.op_type, len(node.input) - 1)]])
        else:
            known = [zeros[name] for name in node.input if name in zeros]
            zeros.update(dict.fromkeys(node.output, known[0] if known else 0))
    return zeros


def of_tables(model, constants):
    """The zero points of constant codes that are moved, such as embeddings: those of the operator that reads the result, where each
    operand is followed by its scale and its zero point."""
    read = {}
    for node in reversed(model.graph.node):
        if node.op_type.startswith(("QLinear", "QGemm", "DequantizeLinear")):
            operands = zip(node.input, node.input[2:])
            read |= {name: constants[zero] for name, zero in operands if zero in constants and constants[zero].size == 1}
        else:
            known = [read[name] for name in node.output if name in read]
            read |= dict.fromkeys(node.input, known[0]) if known else {}
    return {name: zero.item() for name, zero in read.items() if name in constants and constants[name].dtype in CODES.values()}


def apart(model, ours, feed):
    """The operators on codes of a model, each behind inputs of its own, and what we have for these inputs and for the results. `feed` has
    the inputs of the model, such as indices of a table of codes."""
    types = {info.name: info.type.tensor_type.elem_type for info in model.graph.value_info}
    given = {info.name: info for info in model.graph.input}
    makers = {name: node for node in model.graph.node for name in node.output}
    zeros, feeds, nodes, inputs, outputs, expected, absent = zero_points(model), {}, [], [], [], {}, []
    for node in model.graph.node:
        made = [name for name in node.output if types.get(name) in CODES]
        if not made or node.op_type in ON_REALS:
            continue
        # A layer that became several operators is compared as a whole, and so are a conversion of its operand to another grid, and a
        # convolution with its clamp.
        def is_inside(name):
            of = makers.get(name)
            return of is not None and (name not in types or name not in ours and of.op_type in ("QLinearMul", "QLinearConv"))

        group = [node]
        for member in group:
            group += [makers[name] for name in member.input if is_inside(name) and makers[name] not in group]
        read = {name for member in group for name in member.input if name in types and not is_inside(name)}
        known = all(types[name] in CODES and name in ours for name in read)
        if not known or not all(name in ours for name in made):
            absent.append(node)
            continue
        for name in read:
            fed = f"{name}__fed"
            if fed not in feeds:
                feeds[fed] = (ours[name] + zeros[name]).astype(CODES[types[name]])
                inputs.append(helper.make_tensor_value_info(fed, types[name], feeds[fed].shape))
        for member in reversed(group):
            if any(set(member.output) & set(node.output) for node in nodes):
                continue
            copy = onnx.NodeProto()
            copy.CopyFrom(member)
            copy.input[:] = [f"{name}__fed" if name in read else name for name in member.input]
            nodes.append(copy)
        for name in made:
            outputs.append(helper.make_tensor_value_info(name, types[name], ours[name].shape))
            expected[name] = ours[name] + zeros[name]
    used = {name for node in nodes for name in node.input}
    inputs += [info for name, info in given.items() if name in used and name in feed]
    feeds |= {name: feed[name] for name in given if name in used and name in feed}
    absent = [node for node in absent if not used & set(node.output)]
    constants = [tensor for tensor in model.graph.initializer if tensor.name in used]
    graph = helper.make_graph(nodes, "apart", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=model.opset_import)
    model.ir_version = 10
    return model, feeds, expected, absent


def borders(model, feed):
    """What QuantizeLinear makes of the inputs of a model, minus the zero points. Our artifact has no names for these codes."""
    inputs = {info.name for info in model.graph.input}
    names = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear" and node.input[0] in inputs]
    with_more = onnx.ModelProto()
    with_more.CopyFrom(model)
    with_more.graph.output.extend(info for info in model.graph.value_info if info.name in names)
    zeros = zero_points(model)
    made = session(with_more.SerializeToString(), False).run(names, feed) if names else []
    return {name: codes.astype(np.int32) - zeros[name] for name, codes in zip(names, made, strict=True)}


def of_outputs(model, ours):
    """The codes of outputs of the model, which the file dequantizes. In our artifact they have the name of the layer."""
    outputs = {f"{info.name}_float" for info in model.graph.output}
    made = [(name, node) for node in model.graph.node for name in node.output if name in outputs]
    steps = ("lookup", "codes", "add", "mul", "requantize")
    return {name: ours[f"{node.name}:{step}"] for name, node in made for step in steps if f"{node.name}:{step}" in ours}


def inner(path, artifact, values, files, feed, work, found):
    """Compares the results of all operators on codes, fed with our codes."""
    processes.check([values, artifact, 1, work / "codes", *files], work / "values.log")
    numbers, ours = np.fromfile(work / "codes.bin", np.int32), {}
    for _, name, start, shape in json.loads((work / "codes.json").read_text()):
        codes = numbers[start : start + int(np.prod(shape))].reshape(shape)
        # What is behind the last colon may be ours, or belong to the name of the tensor in a frozen graph.
        for known in accumulate(name.split(":"), "{}:{}".format):
            ours[known] = codes
        # A value that is quantized has this name in the file.
        ours.setdefault(name.replace(":", "_"), codes)
        if name.endswith(":quantized"):
            ours.setdefault(f"{name.removesuffix(':quantized')}_quantized", codes)
    model = onnx.load(str(path))
    ours = of_outputs(model, ours) | borders(model, feed) | ours
    one_by_one, feeds, expected, found.absent = apart(model, ours, feed)
    found.floats = {node.op_type for node in model.graph.node if is_float(node, model)}
    found.behind_floats, found.rounded = rounded(model, ours, zero_points(model), feed, session)
    if not expected:
        return
    for optimized in (False, True):
        run = session(one_by_one.SerializeToString(), optimized)
        for name, codes in zip(expected, run.run(list(expected), feeds), strict=True):
            found.tensors += 1
            off = np.abs(codes.astype(np.int32) - expected[name])
            if off.any():
                found.wrong.append((name, int((off > 0).sum()), off.size, int(off.max())))


def is_float(node, model):
    if node.op_type in ON_REALS or node.op_type in MOVES:
        return False
    types = {info.name: info.type.tensor_type.elem_type for info in [*model.graph.value_info, *model.graph.output]}
    return any(types.get(name) == TensorProto.FLOAT for name in node.output)


def compare(path, outputs, feeds, found):
    """Compares the outputs of all samples. `outputs` has ours, and `feeds` what the network gets."""
    plain, default = session(path, False), session(path, True)
    for at, feed in enumerate(feeds):
        for mine, exact, fast in zip(outputs, plain.run(None, feed), default.run(None, feed), strict=True):
            own = mine[at].reshape(exact.shape).astype(np.float64)
            found.elements += own.size
            found.differing += int((exact != own).sum())
            found.default_differing += int((fast != own).sum())
            found.signal += float((own**2).sum())
            found.noise += float(((exact - own) ** 2).sum())


def ran(arguments, folder, files, work):
    to = work / "outputs"
    given = [word for file in files for word in ("--input", file)]
    processes.check([arguments.strait, "run", folder, *given, "--output", f"{to}/"], work / "run.log")
    return [np.load(to / entry["file"]) for entry in json.loads((to / "index.json").read_text())["outputs"]]


def held(arguments, model):
    work = arguments.work / model.name
    work.mkdir(parents=True, exist_ok=True)
    folder = work / "build"
    data, _ = next(iter(model.evaluations.values()))
    stored = np.load(arguments.data / f"{data}.npy", mmap_mode="r")
    stored = np.ascontiguousarray(stored[: FEWER if model.name in LARGE else MANY])
    samples = work / "x.npy"
    np.save(samples, stored)
    config = arguments.repository / "configs" / "models" / f"{model.name}.toml"
    set_ = ["--set", 'output.emit=["qoperator-onnx"]', "--target", "onnxruntime", "--out", folder]
    processes.check([arguments.strait, "compile", config, *set_], work / "compile.log")
    ours, found, feeds = ran(arguments, folder, [samples], work), Found(), list(model.inputs(stored))
    if model.kind not in ("anomaly", "detector"):
        # What the network sees by our own preprocessing: numbers halfway between two codes are frequent in images.
        count = ["--evaluation", "--samples", len(stored), "--out", work / "seen"]
        processes.check([arguments.strait, "samples", config, *count], work / "samples.log")
        feeds = np.load(next((work / "seen").glob("*.npy")), mmap_mode="r")
    given = session(folder / FILE, False).get_inputs()[0]
    feeds = [{given.name: np.asarray(feed).reshape(given.shape)} for feed in feeds]
    compare(folder / FILE, ours, feeds, found)
    inner(folder / FILE, folder, arguments.values, [samples], feeds[0], work, found)
    return found


def several(arguments, model):
    """The number of bytes of outputs that differ between a run of several samples and runs of one sample."""
    settings = ["--set", 'output.emit=["qoperator-onnx"]']
    folder = batches.compiled(arguments, model, "onnxruntime", settings, arguments.work / f"{model.name}-batch")
    if folder is None:
        return None
    data, _ = next(iter(model.evaluations.values()))
    stored, run = np.load(arguments.data / f"{data}.npy", mmap_mode="r")[: batches.COUNT], session(folder / FILE, False)
    given = run.get_inputs()[0]
    shape = [1, *given.shape[1:]]
    return batches.onnx_runtime(run, [{given.name: np.asarray(feed).reshape(shape)} for feed in model.inputs(stored)])


def of_zoo(arguments, skeleton, inputs):
    """The same for a network of the zoo, which has random weights."""
    from qdq_zoo import SAMPLES, drawn

    stem = skeleton.name.removesuffix(".skeleton.onnx")
    work = arguments.work / "zoo" / stem
    work.mkdir(parents=True, exist_ok=True)
    model, random = onnx.load(skeleton), np.random.default_rng(0)
    statistics = json.loads((skeleton.parent / f"{stem}.stats.json").read_text())
    for tensor in model.graph.initializer:
        if tensor.name in statistics:
            mean, spread = statistics[tensor.name]
            tensor.raw_data = random.normal(mean, spread, tuple(tensor.dims)).astype("<f4").tobytes()
    onnx.save(model, work / "model.onnx")
    made = {key: drawn(random, how) for key, how in inputs.items()}
    files = []
    for key, numbers in made.items():
        np.save(work / f"{len(files)}.npy", numbers[:SAMPLES])
        files.append(f"{key}={work / f'{len(files)}.npy'}")
    np.savez(work / "calibration.npz", **made)
    folder = work / "build"
    command = ["compile", "--model", work / "model.onnx", "--calibration", work / "calibration.npz", "--target", "onnxruntime"]
    command += ["--set", 'output.emit=["qoperator-onnx"]', "--out", folder]
    processes.check([arguments.strait, *command], work / "compile.log")
    found, ours = Found(), ran(arguments, folder, files, work)
    feeds = [{key: numbers[sample][None] for key, numbers in made.items()} for sample in range(SAMPLES)]
    compare(folder / FILE, ours, feeds, found)
    inner(folder / FILE, folder, arguments.values, files, feeds[0], work, found)
    (work / "model.onnx").unlink()
    return found


def shown(name, found):
    for tensor, count, size, off in found.wrong:
        print(f"WRONG   {name}: {tensor} has other codes, {count} of {size}, by {off} at most")
    for tensor, count, size, off, kinds, optimized in found.rounded:
        mark, settings = "WRONG  " if off > MOST else "       ", " at default settings" if optimized else ""
        print(f"{mark} {name}: {count} of {size} codes of {tensor} are off by {off} at most{settings}, behind {', '.join(kinds)}")
    if found.behind_floats:
        plain, default = (sum(each[1] for each in found.rounded if each[5] == optimized) for optimized in (False, True))
        print(f"        {name}: {plain} of {found.behind_floats} codes behind float operators are off, at default settings {default}")
    if found.absent:
        kinds = sorted({node.op_type for node in found.absent})
        print(f"        {name}: {len(found.absent)} operators have no counterpart in the artifact: {', '.join(kinds)}")
    snr = 10 * np.log10(found.signal / found.noise) if found.noise and found.signal else np.inf
    behind = f", {snr:.1f} dB, behind {', '.join(sorted(found.floats))}" if found.floats else ""
    print(
        f"{name}: {found.tensors - len(found.wrong)} of {found.tensors} results of operators equal; {found.differing} of "
        f"{found.elements} outputs differ{behind}; at default settings {found.default_differing} differ",
        flush=True,
    )
    format = "ONNX of quantized operators"
    figures.record(format, "onnxruntime, no optimizations", name, figures.counted(found.differing, found.elements, behind.removeprefix(", ")))
    figures.record(format, "onnxruntime default", name, figures.counted(found.default_differing, found.elements))
    # Behind operators on real numbers, outputs may differ: the order of a sum is not defined, nor are functions to the last bit.
    off = any(each[3] > MOST for each in found.rounded)
    return off or bool(found.wrong) or bool(found.differing and not found.floats)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("strait", "values"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("work", "data", "repository"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--zoo", type=Path, help="a folder of graphs with random weights, instead of the models")
    parser.add_argument("--only", default="", help="models whose names contain this")
    arguments = parser.parse_args()
    if not has_vnni():
        print("skipped: this processor has no VNNI, so products of uint8 and int8 may saturate in ONNX Runtime")
        return 0
    if arguments.zoo:
        known = json.loads((arguments.zoo / "inputs.json").read_text())
        cases = {
            skeleton.name.removesuffix(".skeleton.onnx"): skeleton for skeleton in sorted(arguments.zoo.glob("*.skeleton.onnx"))
        }
        cases = {name: (of_zoo, skeleton, known[name]) for name, skeleton in cases.items() if name in known}
    else:
        few = {name: (held, model) for name, model in MODELS.items() if arguments.all or arguments.only or name in FEW}
        cases = few
    wrong = 0
    for name, (run, *of) in cases.items():
        if arguments.only not in name:
            continue
        try:
            wrong += shown(name, run(arguments, *of))
            wrong += 0 if arguments.zoo else batches.shown(name, several(arguments, *of))
        except processes.Failed as error:
            print(f"WRONG   {name}: {error}", flush=True)
            wrong += 1
        except Exception as error:  # ONNX Runtime refuses a file
            print(f"WRONG   {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
