//! `cargo xtask bench`: what compiling costs, beside ONNX Runtime in the same run.

use crate::{Command, Outcome, python};

pub(crate) const COMMAND: Command = Command {
    name: "bench",
    summary: "time and peak memory of each phase, beside ONNX Runtime's quantization",
    help: HELP,
    run,
};

const HELP: &str = "
Compiles MobileNetV2 and ResNet-8 for generic-int8 and prints time and peak memory of each phase, of the whole process,
and of ONNX Runtime's static quantization of the same model with the same samples in the same run; then the memory that
500 samples take against 32. Needs the models and data in a folder `shared/data` beside the repository, and Python.

Usage: cargo xtask bench [--rounds N] [--samples N]
";

fn run(arguments: &[String]) -> Outcome {
    python::measure("bench", arguments)
}
