"""Several samples in one run of a file that we write: they have to have the bytes of runs with one sample each."""

import numpy as np
import onnx
import processes
from litert import Interpreter, OpResolverType

COUNT = 3


def with_free_batch(model, to):
    """Writes an ONNX model with a fixed batch of 1 as one that takes any batch. Returns false if it has no axis for the batch."""
    model = onnx.load(str(model))
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        shape = value.type.tensor_type.shape.dim
        if value.name in constants:
            continue
        if not shape or not (shape[0].dim_param or shape[0].dim_value == 1):
            return False
        shape[0].dim_param = "N"
    for value in model.graph.output:
        for dim in value.type.tensor_type.shape.dim[:1]:
            dim.dim_param = "N"
    del model.graph.value_info[:]
    onnx.save(model, str(to))
    return True


def compiled(arguments, model, target, settings, work):
    """Compiles a model with an open batch for a target. Returns the folder, or `None` if the model has no axis for the batch."""
    work.mkdir(parents=True, exist_ok=True)
    if model.graph or not with_free_batch(arguments.repository.parent / "shared/data/models" / model.file, work / "model.onnx"):
        return None
    config, folder = arguments.repository / "configs" / "models" / f"{model.name}.toml", work / "build"
    free = ["--set", f'model.file="{(work / "model.onnx").absolute()}"', "--set", "model.bind={}"]
    free += ["--set", "calibration.samples=16"]
    free += ["--set", "evaluation.samples=1"] if "[evaluation]" in config.read_text() else []
    processes.check([arguments.strait, "compile", config, *free, *settings, "--target", target, "--out", folder], work / "compile.log")
    return folder


def litert(path, feeds):
    """Compares one run of a TFLite file in LiteRT's reference kernels with a run for each sample. `feeds` has the samples as the file
    takes them. Returns the number of outputs that differ, or `None` if the file takes one sample at a time."""
    run = Interpreter(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    given = run.get_input_details()
    if any(detail["shape_signature"][0] != -1 for detail in given):
        return None

    def results(samples):
        for detail, *of_input in zip(given, *samples, strict=True):
            fed = np.concatenate(of_input)
            run.resize_tensor_input(detail["index"], fed.shape, strict=True)
        run.allocate_tensors()
        for detail, *of_input in zip(given, *samples, strict=True):
            run.set_tensor(detail["index"], np.concatenate(of_input))
        run.invoke()
        return [run.get_tensor(detail["index"]).copy() for detail in run.get_output_details()]

    return differing(results(feeds), [results([sample]) for sample in feeds])


def onnx_runtime(session, feeds):
    """The same for an ONNX file. `feeds` has a dictionary for each sample."""
    if any(isinstance(given.shape[0], int) for given in session.get_inputs()):
        return None
    all_at_once = {name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]}
    return differing(session.run(None, all_at_once), [session.run(None, feed) for feed in feeds])


def differing(several, singles):
    """The number of elements that are not equal bit for bit. Samples lie one after the other along an axis of each output."""
    count = 0
    for position, made in enumerate(several):
        each = [single[position] for single in singles]
        axes = [axis for axis in range(made.ndim) if np.concatenate(each, axis).shape == made.shape]
        bits = [np.concatenate(each, axis).view(np.uint8) != made.view(np.uint8) for axis in axes]
        count += min((int(bit.sum()) for bit in bits), default=made.nbytes)
    return count


def shown(name, count):
    """Prints the result, and returns true if it is wrong."""
    if count is None:
        print(f"        {name}: the file takes one sample at a time")
        return False
    print(f"{'WRONG   ' if count else ''}{name}: {COUNT} samples in one run: {count} bytes of outputs differ")
    return bool(count)
