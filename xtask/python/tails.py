"""What lies behind a cut: ONNX Runtime runs `tail.onnx` on the dequantized outputs of the integer model, and gives what `strait run`
gives for the whole model. The places where the models are cut are those that `strait inspect --cuts` proposes."""

import json

import numpy as np
import onnx
import processes
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 8
TOLERANCE = 1e-5  # of the largest number: functions are rounded differently


def detector(best):
    """A head with boxes of a wide range, an exponent and scores; with `best`, the boxes with the largest scores are selected."""
    random = np.random.default_rng(11)
    places = 36
    constants = {
        "stem.w": random.standard_normal((8, 3, 3, 3)).astype(np.float32) * 0.3,
        "box.w": random.standard_normal((4, 8, 1, 1)).astype(np.float32) * 0.2,
        "cls.w": random.standard_normal((5, 8, 1, 1)).astype(np.float32) * 0.2,
        "grid": (np.arange(places * 2, dtype=np.float32) % 6).reshape(1, 2, places),
        "stride": np.array(8.0, np.float32),
        "four": np.array([1, 4, places], np.int64),
        "five": np.array([1, 5, places], np.int64),
        "k": np.array([3], np.int64),
    }
    nodes = [
        helper.make_node("Conv", ["x", "stem.w"], ["stem"], name="stem", pads=[1] * 4),
        helper.make_node("Relu", ["stem"], ["act"], name="act"),
        helper.make_node("Conv", ["act", "box.w"], ["box"], name="box"),
        helper.make_node("Conv", ["act", "cls.w"], ["cls"], name="cls"),
        helper.make_node("Reshape", ["box", "four"], ["boxes"], name="boxes"),
        helper.make_node("Split", ["boxes"], ["centre", "size"], name="split", axis=1),
        helper.make_node("Add", ["centre", "grid"], ["placed"], name="placed"),
        helper.make_node("Mul", ["placed", "stride"], ["centres"], name="centres"),
        helper.make_node("Exp", ["size"], ["sizes"], name="sizes"),
        helper.make_node("Reshape", ["cls", "five"], ["logits"], name="logits"),
        helper.make_node("Sigmoid", ["logits"], ["scores"], name="scores"),
        helper.make_node("Concat", ["centres", "sizes", "scores"], ["all"], name="all", axis=1),
    ]
    outputs = [("all", TensorProto.FLOAT, [1, 9, places])]
    if best:
        nodes.append(helper.make_node("TopK", ["scores", "k"], ["best", "where"], name="best", axis=2))
        outputs += [("best", TensorProto.FLOAT, [1, 5, 3]), ("where", TensorProto.INT64, [1, 5, 3])]
    graph = helper.make_graph(
        nodes,
        "detector",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 6, 6])],
        [helper.make_tensor_value_info(*output) for output in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model


def results(folder):
    """The outputs in a folder that `strait run` has written, by name."""
    index = json.loads((folder / "index.json").read_text())
    return {output["name"]: np.load(folder / output["file"]) for output in index["outputs"]}


def compared(strait, work):
    import onnxruntime

    work.mkdir(parents=True, exist_ok=True)
    samples = np.random.default_rng(5).standard_normal((SAMPLES, 3, 6, 6)).astype(np.float32)
    np.save(work / "x.npy", samples)
    for name, best in [("boxes", False), ("selection", True)]:
        model = work / f"{name}.onnx"
        onnx.save(detector(best), str(model))
        try:
            proposed = json.loads(processes.check([strait, "inspect", model, "--cuts", "--json"], work / "cuts.log").output)
            if proposed["outputs"] != ["box", "cls"]:
                yield False, f"tails: {name} is cut at {proposed['outputs']}"
                continue
            runs = {}
            for tail in ("onnx", "drop"):
                config = work / f"{name}-{tail}.toml"
                config.write_text(
                    'schema = 1\ntarget.use = ["generic-int8"]\ncalibration.data = "x.npy"\n'
                    f'output.dir = "{name}-{tail}"\n[model]\nfile = "{model.name}"\noutputs = ["box", "cls"]\ntail = "{tail}"\n'
                )
                processes.check([strait, "compile", config], work / "compile.log")
                out = work / f"{name}-{tail}-outputs"
                command = [strait, "run", work / f"{name}-{tail}", "--input", work / "x.npy", "--output", f"{out}/"]
                processes.check(command, work / "run.log")
                runs[tail] = results(out)
        except processes.Failed as failed:
            yield False, f"tails: {name}: {failed}"
            continue
        session = onnxruntime.InferenceSession(str(work / f"{name}-onnx" / "tail.onnx"), providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        worst, same = 0.0, set(names) == set(runs["onnx"])
        for sample in range(SAMPLES):
            feeds = {key: value[sample : sample + 1] for key, value in runs["drop"].items()}
            for key, theirs in zip(names, session.run(None, feeds), strict=True):
                ours = runs["onnx"][key][sample : sample + 1].reshape(theirs.shape)
                if theirs.dtype == np.float32:
                    worst = max(worst, float(np.abs(ours - theirs).max() / np.abs(theirs).max()))
                else:
                    same &= bool((ours == theirs).all())
        text = f"tails: {name}: ONNX Runtime runs tail.onnx to the same outputs, within {worst:.1e} of the largest"
        yield same and worst <= TOLERANCE, text
