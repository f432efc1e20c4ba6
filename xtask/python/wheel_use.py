#!/usr/bin/env python3
"""Use the installed Python package:  wheel_use.py REPOSITORY

Started by wheel.py in an environment that has the package and NumPy and nothing else.
"""

import pickle
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import numpy as np
import strait_compiler as strait

repository = Path(sys.argv[1])
digits = repository / "models" / "digits"
model = digits / "digits.onnx"


def raises(kind, code, words, work):
    try:
        work()
    except kind as error:
        assert code is None or error.code == code, error
        assert words in str(error), error
        return error
    raise AssertionError(f"nothing raises {kind.__name__}")


stored = np.load(digits / "calib_x.npy")
x = np.ascontiguousarray((stored / np.float32(16)).transpose(0, 3, 1, 2), dtype=np.float32)
labels = np.load(digits / "eval_y.npy")
held = np.ascontiguousarray((np.load(digits / "eval_x.npy") / np.float32(16)).transpose(0, 3, 1, 2), dtype=np.float32)

# Models and samples in every form give the same integers.
built = strait.compile(model, x, progress=False)
assert built.inputs == {"image": ("float32", (1, 1, 8, 8))}, built.inputs
outputs = built.run(held)
(name,) = outputs
accuracy = (outputs[name].argmax(1) == labels).mean()
assert accuracy > 0.95, accuracy
forms = {
    "bytes and a dict": lambda: strait.compile(model.read_bytes(), {"image": x}, progress=False),
    "a generator of batches with labels": lambda: strait.compile(model, ((part, None) for part in np.array_split(x, 5)), progress=False),
    "a generator of dicts": lambda: strait.compile(str(model), ({"image": part} for part in np.array_split(x, 3)), progress=False),
}
for form, compile in forms.items():
    other = compile()
    assert np.array_equal(other.run(held)[name], outputs[name]), form

# One sample with or without its first axis.
assert np.array_equal(built.run(held[0])[name], outputs[name][:1])
assert np.array_equal(built.run(image=held[:1])[name], outputs[name][:1])

# Threads run at the same time, each with a model of its own.
results = {}
def run(at):
    results[at] = strait.open(built.folder).run(held[at])[name]
threads = [threading.Thread(target=run, args=(at,)) for at in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all(np.array_equal(results[at], outputs[name][at : at + 1]) for at in range(4))

# Rules, algorithms and several targets.
several = strait.compile(
    model, x, ["generic-int8", "sima"], rules=[{"layers": ["/head/**"], "run": "float", "reason": "a test"}],
    optimize={"preset": "quick"}, progress=False,
)
assert set(several) == {"generic-int8", "sima"}
report = several["generic-int8"].report
assert report.host and any(layer.host for layer in report.layers), report
assert "<table>" in report._repr_html_() and "generic-int8" in str(report)
found = strait.analyze(model, x, progress=False)
assert found["layers"], found
assert set(strait.targets()) == {"ascend", "generic-int8", "onnxruntime", "sima"}, strait.targets()

# A model that is cut runs with what lies behind the cut, and has codes at the cut.
cut = strait.compile(model, x, model={"outputs": ["/pool/MaxPool_output_0"], "tail": "onnx"}, progress=False)
assert cut.tail and cut.outputs == built.outputs, cut.outputs
whole = cut.run(held)
assert set(whole) == {name} and whole[name].shape == outputs[name].shape
assert (whole[name].argmax(1) == labels).mean() > 0.95
codes = cut.codes(held)
(at, integers), = codes.items()
scale, zero = cut.grids[at]
assert integers.dtype == np.int8 and len(integers) == len(held), integers
# The tail reads scale * (code - zero).
dropped = strait.compile(model, x, model={"outputs": ["/pool/MaxPool_output_0"]}, progress=False)
assert dropped.tail is None and set(dropped.outputs) == {at}
reals = dropped.run(held)[at]
assert np.array_equal(np.float32(scale) * (integers.astype(np.float32) - zero), reals)
assert np.array_equal(dropped.codes(held[0])[at], integers[:1])
# Without a cut, the codes are those of the logits.
scale, zero = built.grids[name]
assert np.array_equal(np.float32(scale) * (built.codes(held)[name].astype(np.float32) - zero), outputs[name])

# An input as the device hands it over: bytes with the channels last, of which the steps are part of the model.
pixels = stored.astype(np.uint8)
camera = {"layout": "NCHW", "device": {"type": "uint8", "layout": "NHWC"}, "embed": "all", "preprocess": {"steps": [{"scale": 1 / 16}]}}
of_bytes = strait.compile(model, pixels, input={"image": camera}, progress=False)
assert of_bytes.inputs == {"image": ("uint8", (1, 8, 8, 1))}, of_bytes.inputs
assert not of_bytes.report.host, of_bytes.report.host
seen = of_bytes.run(np.load(digits / "eval_x.npy").astype(np.uint8))[name]
assert (seen.argmax(1) == labels).mean() > 0.95
raises(strait.ConfigurationError, "C010", "letterbox", lambda: strait.compile(
    model, pixels, input={"image": {**camera, "preprocess": {"steps": [{"decode": {}}, {"letterbox": {"size": [8, 8]}}]}}}, progress=False,
))
# The table of the target.
table = strait.compile(model, x, {"use": ["sima"], "options": {"sima": {"requantization_mode": "tflite"}}}, progress=False)
assert set(table) == {"sima"}

# Errors have a class, a code and advice.
error = raises(strait.TargetError, "T001", "simma", lambda: strait.compile(model, x, "simma", progress=False))
assert "sima" in (error.help or ""), error
assert pickle.loads(pickle.dumps(error)).code == "T001"
raises(strait.ModelError, "M001", "", lambda: strait.compile(b"nothing", x, progress=False))
raises(ValueError, None, "no input 'picture'", lambda: strait.compile(model, {"picture": x}, progress=False))
raises(ValueError, None, "no input 'picture'", lambda: built.run(picture=x[:1]))
raises(TypeError, None, "takes float32", lambda: built.run(x[:1].astype(complex)))
raises(ValueError, None, "has the shape", lambda: built.run(x[:1, :, :4]))
raises(strait.ArtifactError, None, "", lambda: strait.open(digits))

# The folder goes with the last result.
folder = several["sima"].folder
del several["generic-int8"], report
assert folder.is_dir()
del several
assert not folder.exists(), folder

# The program.
program = Path(sysconfig.get_path("scripts")) / ("strait.exe" if sys.platform == "win32" else "strait")
said = subprocess.run([program, "targets"], check=True, capture_output=True, text=True).stdout
assert "generic-int8" in said, said
print(f"NumPy {np.__version__}: the package compiles and runs; {100 * accuracy:.1f} % of the digits are right")
