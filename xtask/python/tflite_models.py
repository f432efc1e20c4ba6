#!/usr/bin/env python3
"""Hold TFLite models of codes, whole and tensor by tensor, against what LiteRT's reference kernels compute of them. Started by
`cargo xtask oracles`.

A model is compiled for generic-int8, once as it is and once cut at all of its tensors. Each byte of its outputs and of its inner tensors
has to be LiteRT's; where there are stored bytes of LiteRT's, these have to be the same, too.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from litert import Interpreter, OpResolverType

SAMPLES = 32
INNER = 4  # samples whose inner tensors are compared
TARGET = "generic-int8"
OFFICIAL = ["resnet8", "vww", "kws", "ad"]


class Model:
    """A file as LiteRT runs it, with all its tensors left for us to look at."""

    def __init__(self, path):
        self.path = path
        self.run = Interpreter(
            str(path),
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
            num_threads=1,
        )
        self.run.allocate_tensors()
        (self.input,) = self.run.get_input_details()
        self.outputs = [detail["index"] for detail in self.run.get_output_details()]
        self.names = {detail["index"]: detail["name"] for detail in self.run.get_tensor_details()}
        made = [index for operator in self.run._get_ops_details() for index in operator["outputs"]]
        self.made = [index for index in made if index >= 0]

    def of(self, sample, tensors):
        self.run.set_tensor(self.input["index"], sample)
        self.run.invoke()
        return [self.run.get_tensor(index).copy() for index in tensors]

    def samples(self, path):
        """Stored samples, with the channels where this model has them, and on its grid where they are real numbers."""
        shape, kind = self.input["shape"], self.input["dtype"]
        samples = np.load(path)[:SAMPLES]
        samples = samples.reshape(len(samples), *samples.shape[1 + samples.ndim - len(shape) :])
        if samples.ndim == 4 and samples.shape[1:] != tuple(shape[1:]):
            samples = samples.transpose(0, 2, 3, 1)
        if samples.dtype != kind and kind != np.float32:
            scale, zero = self.input["quantization"]
            ends = np.iinfo(kind)
            samples = np.clip(np.round(samples / scale) + zero, ends.min, ends.max)
        return np.ascontiguousarray(samples.reshape(-1, *shape[1:]).astype(kind))


class Strait:
    """Our program, and a folder that it may write to."""

    def __init__(self, program, work):
        self.program, self.work = program, work
        work.mkdir(parents=True, exist_ok=True)

    def call(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])

    def outputs(self, model, samples, tensors):
        """What the compiled model makes, for all samples; outputs are those tensors where there are some."""
        folder = self.work / model.path.stem
        folder.mkdir(exist_ok=True)
        np.save(folder / "x.npy", samples)
        lines = [
            "schema = 1",
            f"model.file = {json.dumps(str(model.path))}",
            f'target.use = ["{TARGET}"]',
            f"calibration.data = {json.dumps(str(folder / 'x.npy'))}",
            f"output.dir = {json.dumps(str(folder / 'build'))}",
        ]
        if tensors:
            lines.append(f"model.outputs = {json.dumps([model.names[index] for index in tensors])}")
        (folder / "strait.toml").write_text("\n".join(lines) + "\n")
        self.call("compile", folder / "strait.toml")
        results = folder / "outputs"
        single = len(tensors or model.outputs) == 1
        to = folder / "y.npy" if single else results
        self.call("run", folder / "build", "--raw", "--input", folder / "x.npy", "--output", to)
        if single:
            return [np.load(to)]
        files = {entry["name"]: entry["file"] for entry in json.loads((results / "index.json").read_text())["outputs"]}
        wanted = tensors or model.outputs
        return [np.load(results / files[model.names[index]]) for index in wanted]


def differing(found, expected):
    """Codes that are not the same."""
    if found.dtype != expected.dtype or found.size != expected.size:
        return f"{found.dtype} {found.shape} instead of {expected.dtype} {expected.shape}"
    count = int((found.reshape(expected.shape) != expected).sum())
    return f"{count} of {expected.size} differ" if count else None


def of_codes(strait, path, stored=None, golden=None):
    """The faults of a model of codes, and the number of tensors compared."""
    model, faults, compared = Model(path), [], 0
    samples = model.samples(stored)
    expected = [model.of(sample[None], model.outputs) for sample in samples]
    found = strait.outputs(model, samples, [])
    for index, name in enumerate(model.names[index] for index in model.outputs):
        whole = np.concatenate([results[index] for results in expected])
        faults += [(f"output {name}", why) for why in [differing(found[index], whole)] if why]
        compared += 1
    if golden:
        whole = np.concatenate([results[0] for results in expected])
        outputs = np.load(f"{golden}.out_ref.npy")
        faults += [("stored outputs", why) for why in [differing(whole[: len(outputs)], outputs)] if why]
    inner = [model.of(sample[None], model.made) for sample in samples[:INNER]]
    found = strait.outputs(model, samples[:INNER], model.made)
    for position, index in enumerate(model.made):
        whole = np.stack([results[position] for results in inner])
        faults += [(model.names[index], why) for why in [differing(found[position], whole)] if why]
        compared += 1
    if golden:
        archive = np.load(f"{golden}.tensors_ref_sample0.npz")
        for position, index in enumerate(model.made):
            if f"{index:03d}" in archive.files:
                why = differing(inner[0][position], archive[f"{index:03d}"])
                faults += [(f"stored {model.names[index]}", why)] if why else []
    return faults, compared


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strait", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--converted", type=Path, help="a folder of files NAME.tflite, with samples in NAME.npy")
    parser.add_argument("--only", default="", help="models whose names contain this")
    arguments = parser.parse_args()
    strait = Strait(arguments.strait, arguments.work)
    models = []
    if arguments.shared:
        golden = arguments.shared / "golden"
        for name in OFFICIAL:
            stem = f"mlperf_{name}_int8"
            models.append((arguments.shared / "models" / f"{stem}.tflite", golden / f"{stem}.in.npy", golden / stem))
        name = "mobilenet_v2_1.0_224"
        models.append((arguments.shared / "models" / f"{name}_ptq_int8.tflite", golden / f"{name}.in.npy", None))
    if arguments.converted:
        for path in sorted(arguments.converted.glob("*.tflite")):
            models.append((path, path.with_suffix(".npy"), None))
    wrong = 0
    for path, stored, golden in (model for model in models if arguments.only in model[0].stem):
        try:
            faults, compared = of_codes(strait, path, stored, golden)
        except RuntimeError as error:
            faults, compared = [("compile", str(error))], 0
        for tensor, why in faults:
            print(f"WRONG   {path.stem}: {tensor}: {why}")
        print(f"{path.stem}: {compared - len(faults)} of {compared} tensors have LiteRT's bytes")
        wrong += bool(faults)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
