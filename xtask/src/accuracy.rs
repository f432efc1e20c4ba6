//! `cargo xtask accuracy`: the table of eleven models and three targets.

use crate::{Command, Outcome, python};

pub(crate) const COMMAND: Command = Command {
    name: "accuracy",
    summary: "measure the models on every target and write docs/accuracy.md",
    help: HELP,
    run,
};

const HELP: &str = "
Compiles each model of configs/models for each target, runs it on its evaluation data beside the float model and ONNX
Runtime's own quantization, and writes docs/accuracy.md. Variants are compared, too: the options of sima and the types of
generic-int8 (xtask/python/accuracy_variants.py); a model is run again only where its integers are others. Needs the models
and data in a folder `shared/data` beside the repository, and Python (a virtual environment is made on first use;
STRAIT_PYTHON names another interpreter).

Usage: cargo xtask accuracy [--models A,B] [--targets T,U] [--out FILE]

With fewer models or targets the table is printed, not written, unless --out says where.
Exit code 1 when something does not compile or run, or misses a mark; the table then says which.

Example:
  cargo xtask accuracy --models mlperf_resnet8,yolox_nano --targets generic-int8
";

fn run(arguments: &[String]) -> Outcome {
    python::measure("accuracy", arguments)
}
