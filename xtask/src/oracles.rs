//! `cargo xtask oracles`: what we claim to equal, run.

use crate::{Outcome, Stop, process, python, workspace};
use std::path::Path;
use std::process::Command;

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "oracles",
    summary: "compare with other people's programs (Python)",
    help: HELP,
    run,
};

const HELP: &str = "
Compares our reader and writer of ONNX with the onnx package and ONNX Runtime, on its node tests and on models.
Compiles the model in the repository for every target of configs/ and compares with ONNX Runtime: the float model's
accuracy, and the Q/DQ model that we write against our own integer results. Runs the package of the target sima with numpy,
which must give the same integers. Where the real models and data are (a folder `shared/data` beside the repository), also
our metrics against the figures stored there. Needs Python: a virtual environment with pinned packages is made in the
target folder on first use; STRAIT_PYTHON names another interpreter that has them.

Usage: cargo xtask oracles [--optional]

  --optional   without a way to get the packages, say so and end well
";

fn run(arguments: &[String]) -> Outcome {
    let optional = match arguments {
        [] => false,
        [option] if option == "--optional" => true,
        [other, ..] => return Err(Stop::Usage(format!("`{other}`: see --help"))),
    };
    let python = match python::interpreter() {
        Ok(python) => python,
        Err(_) if optional => {
            println!("skipped: no Python with the packages of xtask/python/requirements.txt can be had");
            return Ok(());
        }
        Err(stop) => return Err(stop),
    };
    let mut script = python::start(&python, "oracles")?;
    match workspace::shared_data() {
        Some(shared) => {
            script.arg("--data").arg(python::prepared_data(&python, &shared)?);
            script.arg("--shared").arg(shared);
        }
        None => println!("skipped: the metrics on the real models, {}", python::NO_DATA),
    }
    process::run(&mut onnx_files(&python)?)?;
    process::run(&mut script)
}

/// The script that compares our reader and writer of ONNX, with the two small programs that it runs them by.
fn onnx_files(interpreter: &Path) -> Result<Command, Stop> {
    let mut script = python::script(interpreter, "onnx_files.py");
    for program in ["types", "rewrite"] {
        script
            .arg(format!("--{program}"))
            .arg(workspace::build_example("strait-onnx", program)?);
    }
    script.arg("--repository").arg(workspace::root());
    script.arg("--work").arg(workspace::target().join("onnx_files"));
    if let Some(shared) = workspace::shared_data() {
        script.arg("--shared").arg(shared);
    }
    Ok(script)
}
