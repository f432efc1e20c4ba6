#!/usr/bin/env python3
"""Run decoders whose keys and values are codes: the first tokens and then four steps, in ONNX Runtime at default settings. Started by
`cargo xtask oracles --operators`.

Each step is a model of its own, whose past is one position longer. One of them measures the scales of the caches on samples of the
float model, and the others take its scales. The outputs of a step are codes, which are the inputs of the next step as they are. The
codes of the past have to come back unchanged, the outputs have to be those of `strait run` on the dequantized codes, and
near those with a float cache. A number is the lowest of all steps, and that of the logits is for all steps together.
"""

from pathlib import Path

import numpy as np
import onnx
import processes
from decoder_graphs import DECODERS
from decoder_written import run_cases, session, snr
from onnx import numpy_helper

PREFILL, STEPS, SAMPLES, SEED = 16, 4, 16, 7
LEAST_SNR = 30.0  # of all outputs of a step, against those with a float cache
TOLERANCE = 4.0  # where all activations are codes: the grid of a cache is symmetric, and that of a float output fits its range
LEAST_SAME = 100.0  # to `strait run`; float sums in another order
WAYS = {"weights-alone": 'activations.type = "float32"\nweights = { type = "int4", per = "block", block = 32 }\n', "integers": ""}
CONFIG = """schema = 1
[model]
file = "{name}.onnx"
[target]
use = ["onnxruntime"]
{calibration}
[quantize]
{way}
[output]
dir = "{out}"
emit = ["qoperator-onnx"]
"""
CACHE = """[[output.target.onnxruntime.cache]]
{past}present = "present.*.{kind}"
type = "{ty}"
{grids}"""


def positions(count, past):
    return np.arange(past, past + count, dtype=np.int64)[None]


def fed(model, words, past, caches):
    """The inputs of a model: the words, their positions if it has such an input, and the past of each layer."""
    arrays = {"input_ids": words, "position_ids": positions(words.shape[1], past)} | caches
    return {value.name: arrays[value.name] for value in model.graph.input}


def next_past(model, results):
    names = [value.name for value in model.graph.output]
    return {name.replace("present", "past_key_values"): result for name, result in zip(names, results) if name != "logits"}


def configure(folder, name, ty, way, cache, past, calibration, grids):
    calibration = f'[calibration]\ndata = "{calibration}"' if calibration else ""
    text = CONFIG.format(name=name, calibration=calibration, way=WAYS[way], out=f"{name}-{cache}")
    for kind in ("key", "value") if cache == "codes" else ():
        past_line = f'past = "past_key_values.*.{kind}"\n' if past else ""
        text += CACHE.format(past=past_line, kind=kind, ty=ty, grids=f'grids = "{grids}"\n' if grids else "")
    path = folder / f"{name}-{cache}.toml"
    path.write_text(text)
    return path


def zero_of(array):
    return 128 if array.dtype == np.uint8 else 0


def scale_of(codes, reals):
    """The scale by which `strait run` has real numbers where the file has codes, from the largest code."""
    steps = codes.astype(np.float32) - zero_of(codes)
    at = np.abs(steps).argmax()
    return reals.flat[at] / steps.flat[at]


def dequantized(arrays, scales):
    """Real numbers of codes. The past has the grid of the present."""
    found = {}
    for name, array in arrays.items():
        if array.dtype in (np.int8, np.uint8):
            scale = scales[name.replace("past_key_values", "present")]
            array = (array.astype(np.float32) - zero_of(array)) * scale
        found[name] = array
    return found


def compare(arguments, kind, way, ty):
    label = f"{kind}-{way}-{ty}"
    folder = arguments.work / label
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(3)
    steps = [(PREFILL, 0)] + [(1, PREFILL + step) for step in range(STEPS)]
    names = ["prefill"] + [f"decode{step}" for step in range(STEPS)]
    models = [DECODERS[kind](SEED, count, past)[0] for count, past in steps]
    words = len(numpy_helper.to_array(next(t for t in models[0].graph.initializer if len(t.dims) == 2)))
    for model, name in zip(models, names):
        onnx.save(model, folder / f"{name}.onnx")
    floats = [session(model.SerializeToString()) for model in models]
    # Samples of all steps, as the float model computes them.
    samples = {name: [] for name in names}
    for _ in range(SAMPLES):
        caches = {}
        for (count, past), name, model, run in zip(steps, names, models, floats):
            given = fed(model, random.integers(0, words, (1, count)), past, caches)
            samples[name].append(given)
            caches = next_past(model, run.run(None, given))
    for name, of in samples.items():
        np.savez(folder / f"{name}.npz", **{key: np.concatenate([one[key] for one in of]) for key in of[0]})
    needs = way == "integers"
    for name, (count, past) in sorted(zip(names, steps), key=lambda each: each[0] != "decode0"):
        first = name == "decode0"
        for cache in ("codes", "float"):
            data = f"{name}.npz" if first or needs else None
            path = configure(folder, name, ty, way, cache, past, data, None if first else "decode0-codes")
            processes.check([arguments.strait, "compile", path], folder / f"{name}-{cache}.log")
    faults, lowest, same = [], np.inf, np.inf
    tokens = [random.integers(0, words, (1, count)) for count, _ in steps]
    caches, real, true, scales, logits = {}, {}, {}, {}, ([], [], [])
    for (count, past), name, model, given, exact in zip(steps, names, models, tokens, floats):
        file = onnx.load(folder / f"{name}-codes" / "model.qoperator.onnx")
        codes = [value.name for value in [*file.graph.input, *file.graph.output] if ".key" in value.name or ".value" in value.name]
        types = {value.name: value.type.tensor_type.elem_type for value in [*file.graph.input, *file.graph.output]}
        wanted = onnx.TensorProto.INT8 if ty == "int8" else onnx.TensorProto.UINT8
        if any(types[at] != wanted for at in codes) or not codes:
            faults.append(f"{name}: a cache is not {ty}")
        inputs = fed(model, given, past, caches)
        results = session(folder / f"{name}-codes" / "model.qoperator.onnx").run([v.name for v in model.graph.output], inputs)
        outputs = dict(zip([value.name for value in model.graph.output], results))
        for at, old in caches.items():
            new = outputs[at.replace("past_key_values", "present")]
            if not np.array_equal(new[:, :, : old.shape[2]], old):
                faults.append(f"{name}: the codes of {at} do not come back")
        numbers = dequantized(inputs, scales)
        np.savez(folder / "inputs.npz", **numbers)
        processes.check(
            [arguments.strait, "run", folder / f"{name}-codes", "--input", folder / "inputs.npz", "--output", folder / "outputs"],
            folder / "run.log",
        )
        run = [np.load(folder / "outputs" / f"{at:03}_{output}.npy") for at, output in enumerate(outputs)]
        for output, reals in zip(outputs, run):
            if output in codes:
                scales.setdefault(output, scale_of(outputs[output], reals))
        ours = dequantized(outputs, scales)
        same = min(same, snr(run, list(ours.values())))
        apart = session(folder / f"{name}-float" / "model.qoperator.onnx")
        float_results = apart.run([v.name for v in model.graph.output], fed(model, given, past, real))
        by_name = dict(zip(outputs, float_results))
        lowest = min(lowest, snr(float_results, list(ours.values())))
        logits[0].append(by_name["logits"])
        logits[1].append(outputs["logits"])
        true_results = exact.run([v.name for v in model.graph.output], fed(model, given, past, true))
        logits[2].append(dict(zip(outputs, true_results))["logits"])
        caches, real, true = (next_past(model, of) for of in (results, float_results, true_results))
    near = [snr(logits[2], of) for of in logits[:2]]
    if needs and near[1] < near[0] - TOLERANCE:
        faults.append("the logits are farther from the float model than with a float cache")
    if not needs and lowest < LEAST_SNR:
        faults.append("the outputs are too far from those with a float cache")
    if same < LEAST_SAME:
        faults.append("the outputs are not those of strait run")
    text = f"{lowest:.1f} dB to a float cache, logits {snr(*logits[:2]):.1f} dB, {same:.1f} dB to strait run"
    text += f"; logits to float {near[1]:.1f} dB ({near[0]:.1f} with a float cache)"
    print(f"{label:28} {text}", *(f"\n  FAULT: {f}" for f in faults), flush=True)
    return not faults


def main():
    run_cases(__doc__, [(kind, way, ty) for kind in DECODERS for way in WAYS for ty in ("int8", "uint8")], compare)


if __name__ == "__main__":
    main()
