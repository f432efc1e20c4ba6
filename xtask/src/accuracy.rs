//! `cargo xtask accuracy`: measures the accuracy of real models on every target of the box and writes the table of results.

use crate::{Command, Outcome, Stop, process, python, workspace};
use std::path::Path;

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
STRAIT_PYTHON names another interpreter). For frozen TensorFlow graphs among the models it needs TensorFlow, too, which
makes the ONNX files that ONNX Runtime takes (half a gigabyte; STRAIT_PYTHON_TENSORFLOW).

Usage: cargo xtask accuracy [--models A,B] [--targets T,U] [--out FILE]

With fewer models or targets the table is printed, not written, unless --out says where.
Exit code 1 when something does not compile or run, or misses a mark; the table then says which.

Example:
  cargo xtask accuracy --models mlperf_resnet8,yolox_nano --targets generic-int8
";

fn run(arguments: &[String]) -> Outcome {
    let twins = workspace::target().join("twins");
    if let Some(shared) = workspace::shared_data() {
        let graphs = graphs(&shared, arguments)?;
        if !graphs.is_empty() {
            let data = python::prepared_data(&python::interpreter()?, &shared)?;
            let mut convert = python::script(&python::tensorflow_interpreter()?, "tensorflow_to_onnx.py");
            process::run(convert.arg(shared).arg(data).arg(&twins).args(graphs))?;
        }
    }
    let twins = ["--twins".to_owned(), twins.display().to_string()];
    python::measure("accuracy", &[&twins, arguments].concat())
}

/// The TensorFlow graphs among the chosen models.
fn graphs(shared: &Path, arguments: &[String]) -> Result<Vec<String>, Stop> {
    let chosen = arguments.iter().position(|argument| argument == "--models");
    let chosen = chosen.and_then(|position| arguments.get(position + 1));
    let files = workspace::names(&shared.join("models"))?;
    let names = files.iter().filter_map(|file| file.strip_suffix(".pb"));
    let names = names.filter(|name| chosen.is_none_or(|list| list.split(',').any(|own| own == *name)));
    Ok(names.map(str::to_owned).collect())
}
