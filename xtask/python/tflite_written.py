#!/usr/bin/env python3
"""Run the TFLite files that we write in LiteRT's reference kernels, and hold them against `strait run`. Started by
`cargo xtask oracles --written`.

The outputs of up to 200 samples and each integer tensor of sample 0 have to have our bytes. What depends on a function of real numbers
that LiteRT takes from its C library, or on the order of a sum of real numbers, may differ: it is listed, with how far. Each model is
written three times: with inputs and outputs that are real numbers, and with codes of both signednesses. The files run at LiteRT's
default settings (XNNPACK), too: outputs that differ are counted, with the SNR against our own outputs. Models with an open batch run
with three samples at once, which have to have the bytes of three runs.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field
from itertools import accumulate, permutations, product
from pathlib import Path

import batches
import figures
import numpy as np
import processes
from litert import Interpreter, OpResolverType
from models import MODELS

FEW = ["mlperf_resnet8", "mlperf_kws", "mlperf_ad"]
MANY = 200  # samples of which the outputs are compared
FEWER = 20  # of networks of which one sample takes seconds in the reference kernels
LARGE = ["yolox_nano", "mobilenet_v2_1.0_224", "squeezenet1.1", "cifar_resnet56", "kwt1_transformer"]
# Operators whose results on real numbers depend on the C library or on the order of a sum.
LIBRARY = {"SOFTMAX", "LOGISTIC", "TANH", "EXP", "GELU", "LOG", "POW"} | {"MEAN", "SUM", "CONV_2D", "CONV_3D", "FULLY_CONNECTED", "BATCH_MATMUL"}


def interpreter(path, reference):
    kernels = OpResolverType.BUILTIN_REF if reference else OpResolverType.AUTO
    made = Interpreter(
        str(path), experimental_op_resolver_type=kernels, experimental_preserve_all_tensors=reference, num_threads=1
    )
    made.allocate_tensors()
    return made


# What the inputs and outputs of the files are: real numbers in the order of the model, or codes with channels last.
BORDERS = {
    "": {},
    "int8": {"layout": "NHWC", "inputs": "int8", "outputs": "int8"},
    "uint8": {"layout": "NHWC", "inputs": "uint8", "outputs": "uint8"},
}


def quantized(reals, detail):
    """Codes of an input, as QUANTIZE computes them: a division in float32, and half away from zero."""
    (scale, zero), range_ = detail["quantization"], np.iinfo(detail["dtype"])
    steps = reals.astype(np.float32) / np.float32(scale)
    return np.clip(np.trunc(steps + np.copysign(np.float32(0.5), steps)) + zero, range_.min, range_.max)


def dequantized(codes, detail):
    scale, zero = detail["quantization"]
    return np.float32(scale) * (codes.astype(np.int32) - zero).astype(np.float32)


def fed(sample, detail, codes):
    """A sample as an input of the file takes it. Images of codes have their channels last."""
    if codes and len(detail["shape"]) >= 4:
        sample = np.moveaxis(sample, 1 - len(detail["shape"]), -1)
    sample = sample.reshape(detail["shape"])
    return (quantized(sample, detail) if codes else sample).astype(detail["dtype"])


def outputs(run, feed, codes):
    (given,) = run.get_input_details()
    run.set_tensor(given["index"], fed(feed, given, codes))
    run.invoke()
    results = []
    for detail in run.get_output_details():
        result = run.get_tensor(detail["index"]).copy()
        if codes:
            result = dequantized(result, detail)
        results.append(np.moveaxis(result, -1, 1) if codes and result.ndim >= 4 else result)
    return results


def wide(run, detail):
    """The tensor of int16 that a QUANTIZE in front of an output converts to 8 bits, if there is one. The artifact has its numbers."""
    makers = {operator["outputs"][0]: operator for operator in run._get_ops_details()}
    details, at = {each["index"]: each for each in run.get_tensor_details()}, detail["index"]
    while at in makers and makers[at]["op_name"] == "QUANTIZE":
        at = makers[at]["inputs"][0]
    return details[at] if details[at]["dtype"] == np.int16 and detail["dtype"] != np.int16 else None


def narrowed(reals, wide, detail):
    """Numbers of a tensor of int16 as QUANTIZE converts them to 8 bits: a doubling high product, then a right shift, rounded twice. The
    ratio of the scales is a power of two, so that the multiplier is 2^30."""
    codes = np.rint(reals / np.float64(wide["quantization"][0])).astype(np.int64)
    (scale, zero), range_ = detail["quantization"], np.iinfo(detail["dtype"])
    fraction, exponent = np.frexp(np.float64(wide["quantization"][0]) / np.float64(scale))
    assert fraction == 0.5 and exponent <= 0 and (codes >= 0).all()
    halves = (codes + 1) >> 1
    steps = (halves + (1 << -exponent >> 1)) >> -exponent
    return dequantized(np.clip(steps + zero, range_.min, range_.max), detail)


@dataclass
class Found:
    tensors: int = 0
    unequal: int = 0  # of these tensors
    wrong: list = field(default_factory=list)  # by operators whose operands have our codes
    rounded: list = field(default_factory=list)  # off by one code, by a QUANTIZE of real numbers
    elements: int = 0
    differing: int = 0
    largest: float = 0.0
    default_differing: int = 0
    snr: float = np.inf


def orders(tensor, shape):
    """A tensor of the file in each order of its axes that gives our shape: images have their channels last there."""
    for order in permutations(range(tensor.ndim)):
        if tensor.transpose(order).shape == shape:
            yield tensor.transpose(order)


def codes_of(artifact, values, samples, work):
    """The codes of sample 0 that the artifact computes, less their zero points, by each name that the file may have for them."""
    processes.check([values, artifact, 1, work / "codes", *samples], work / "values.log")
    numbers, ours = np.fromfile(work / "codes.bin", np.int32), {}
    for _, name, start, shape in json.loads((work / "codes.json").read_text()):
        codes = numbers[start : start + int(np.prod(shape))].reshape(shape)
        # What is behind the last colon may be ours, or belong to the name of the tensor in a frozen graph.
        for known in accumulate(name.split(":"), "{}:{}".format):
            ours.setdefault(known, []).append(codes)
        if name.endswith(":quantized"):
            ours.setdefault(f"{name.removesuffix(':quantized')}_quantized", []).append(codes)
    return ours


def off(run, detail, ours):
    """How far the codes of a tensor are from ours, at most, and how many differ. `None` if there are none of ours."""
    known = ours.get(detail["name"])
    if detail["dtype"] not in (np.int8, np.int16, np.uint8) or known is None:
        return None
    zeros = detail["quantization_parameters"]["zero_points"]
    try:
        codes = run.get_tensor(detail["index"]).astype(np.int32) - (zeros[0] if len(zeros) else 0)
    except ValueError:
        return None
    # A layer whose clamp became an activation has the name of the clamp; the codes in front of it are not in the file.
    found = [np.abs(ordered - one) for one in known for ordered in orders(codes, one.shape)]
    return min(((int(each.max()), int((each > 0).sum())) for each in found), default=(np.inf, 0))


def inner(run, ours, found, known):
    """Compares all integer tensors of sample 0 that both sides have under one name, operator by operator. Operators are told apart whose
    operands all have our codes: from these, an integer operator has to make our codes, and a QUANTIZE behind real numbers may be off by
    one code. What is behind other codes is only counted. Tensors in `known` are left out."""
    details = {detail["index"]: detail for detail in run.get_tensor_details()}
    differing = set()
    for operator in run._get_ops_details():
        behind = any(tensor in differing for tensor in operator["inputs"])
        for tensor in set(operator["outputs"]) - known:
            distance = off(run, details[tensor], ours)
            if distance is None:
                differing |= {tensor} if behind else set()
                continue
            found.tensors += 1
            if not distance[0]:
                continue
            differing.add(tensor)
            found.unequal += 1
            if behind:
                continue
            name, first = details[tensor]["name"], details[operator["inputs"][0]]["dtype"]
            rounds = operator["op_name"] == "QUANTIZE" and first == np.float32
            if not rounds or distance[0] > 1:
                found.wrong.append((name, *distance))
            else:
                found.rounded.append((name, distance[1]))


def held(arguments, model, codes):
    work = arguments.work / (f"{model.name}-{codes}" if codes else model.name)
    work.mkdir(parents=True, exist_ok=True)
    folder = work / "build"
    data, _ = next(iter(model.evaluations.values()))
    stored = np.load(arguments.data / f"{data}.npy", mmap_mode="r")
    stored = np.ascontiguousarray(stored[: FEWER if model.name in LARGE else MANY])
    samples = work / "x.npy"
    np.save(samples, stored)
    config = arguments.repository / "configs" / "models" / f"{model.name}.toml"
    borders = ", ".join(f'{key} = "{value}"' for key, value in BORDERS[codes].items())
    set_ = ["--set", 'output.emit=["tflite"]', "--set", f"output.target.generic-int8={{ {borders} }}"]
    set_ += ["--target", "generic-int8", "--out", folder]
    processes.check([arguments.strait, "compile", config, *set_], work / "compile.log")
    seen, to = work / "seen", work / "outputs"
    processes.check([arguments.strait, "run", folder, "--input", samples, "--output", f"{to}/"], work / "run.log")
    ours = [np.load(to / entry["file"]) for entry in json.loads((to / "index.json").read_text())["outputs"]]
    found, feeds = Found(), list(model.inputs(stored))
    if "[evaluation]" in config.read_text():
        # What the network sees by our own preprocessing: numbers halfway between two codes are frequent in images.
        count = ["--evaluation", "--samples", len(stored), "--out", seen]
        processes.check([arguments.strait, "samples", config, *count], work / "samples.log")
        feeds = np.load(next(seen.glob("*.npy")), mmap_mode="r")
    reference, default = (interpreter(folder / "model.tflite", kind) for kind in (True, False))
    made = reference.get_output_details()
    wides = [wide(reference, detail) for detail in made]
    signal = noise = 0.0
    for at, feed in enumerate(feeds):
        results = zip(ours, outputs(reference, feed, codes), outputs(default, feed, codes), wides, made, strict=True)
        for mine, exact, fast, wider, detail in results:
            own = mine[at].reshape(exact.shape).astype(np.float64)
            own = narrowed(own, wider, detail).astype(np.float64) if wider else own
            off = np.abs(exact - own)
            found.elements += off.size
            found.differing += int((off > 0).sum())
            found.largest = max(found.largest, float(off.max()))
            found.default_differing += int((fast != own).sum())
            signal, noise = signal + float((own**2).sum()), noise + float(((fast - own) ** 2).sum())
        if at == 0:
            # An output that is narrowed has the name of wider codes, and was compared above.
            narrow = {detail["index"] for detail, wider in zip(made, wides) if wider}
            inner(reference, codes_of(folder, arguments.values, [samples], work), found, narrow)
    found.snr = 10 * np.log10(signal / noise) if noise else np.inf
    operators = {operator["op_name"] for operator in reference._get_ops_details()}
    kinds = {detail["index"]: detail["dtype"] for detail in reference.get_tensor_details()}
    libm = {
        operator["op_name"]
        for operator in reference._get_ops_details()
        if operator["op_name"] in LIBRARY and kinds[operator["outputs"][0]] == np.float32
    }
    return found, operators, libm


def several(arguments, model, codes):
    """The number of bytes of outputs that differ between a run of several samples and runs of one sample."""
    name = f"{model.name}-batch-{codes}" if codes else f"{model.name}-batch"
    borders = ", ".join(f'{key} = "{value}"' for key, value in BORDERS[codes].items())
    settings = ["--set", 'output.emit=["tflite"]', "--set", f"output.target.generic-int8={{ {borders} }}"]
    folder = batches.compiled(arguments, model, "generic-int8", settings, arguments.work / name)
    if folder is None:
        return None
    data, _ = next(iter(model.evaluations.values()))
    stored = np.load(arguments.data / f"{data}.npy", mmap_mode="r")[: batches.COUNT]
    (given,) = interpreter(folder / "model.tflite", True).get_input_details()
    return batches.litert(folder / "model.tflite", [[fed(feed, given, codes)] for feed in model.inputs(stored)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("strait", "values"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("work", "data", "repository"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="", help="models whose names contain this")
    arguments = parser.parse_args()
    wrong = 0
    models = [model for model in MODELS.values() if arguments.only in model.name]
    some = [model for model in models if arguments.all or arguments.only or model.name in FEW]
    for model, codes in product(some, BORDERS):
        name = f"{model.name} with {codes}" if codes else model.name
        try:
            found, _, libm = held(arguments, model, codes)
        except processes.Failed as error:
            print(f"WRONG   {name}: {error}")
            wrong += 1
            continue
        behind = f", behind {', '.join(sorted(libm))} of real numbers" if libm else ""
        for tensor, distance, count in found.wrong:
            print(f"WRONG   {name}: {count} codes of {tensor} differ, by {distance} at most")
        for tensor, count in found.rounded:
            print(f"        {name}: {count} codes of {tensor} are rounded to the neighbour, behind real numbers")
        print(
            f"{name}: {found.tensors - found.unequal} of {found.tensors} integer tensors of sample 0 equal; "
            f"{found.differing} of {found.elements} outputs differ, by {found.largest:.2g} at most{behind}; "
            f"at default settings {found.default_differing} differ, {found.snr:.1f} dB"
        )
        format = f"TFLite, {codes or 'float'} inputs and outputs"
        figures.record(format, "LiteRT BUILTIN_REF", model.name, figures.counted(found.differing, found.elements, behind.removeprefix(", ")))
        figures.record(format, "LiteRT default", model.name, figures.counted(found.default_differing, found.elements, f"{found.snr:.1f} dB"))
        wrong += bool(found.wrong) or bool(found.differing and not libm)
    cases = [(model, codes) for model in some for codes in ("", "int8") if not codes or model.name in FEW]
    for model, codes in cases:
        name = f"{model.name} with {codes}" if codes else model.name
        try:
            wrong += batches.shown(name, several(arguments, model, codes))
        except (processes.Failed, RuntimeError) as error:
            print(f"WRONG   {name}: {error}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
