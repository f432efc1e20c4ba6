//! Runs TFLite files with single operators or whole models in float: once as they are read, and once in canonical form.
//! Compares the results with those of LiteRT. For whole models, the differences may reach a limit in dB.
//!
//! `cargo run -p strait-tflite --example litert_operators -- FOLDER OPERATORS [--bless] [NAME]`
//!
//! `xtask/python/tflite_operators.py` or `tflite_floats.py` writes FOLDER. OPERATORS is a file that lists, for each
//! operator, the ops that it becomes. `--bless` writes this file, and `docs/operators.md` is made from it. If NAME is
//! given, only the cases run whose names contain NAME. The program fails if a case is refused or its result differs, if
//! an operator that we read has no case, or if OPERATORS is out of date.

#[path = "../../../tensorflow/examples/graphs/compared.rs"]
mod compared;
#[path = "../../../onnx/examples/oracle/mod.rs"]
mod oracle;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use strait_import::Decoded;

use oracle::cases::Case;
use oracle::forms;
use strait_tflite::{Model, operators};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let operators = operators().into_iter().map(|operator| operator.name);
    compared::all("LiteRT", operators.collect(), run)
}

/// Runs a case. Returns the names of the ops that the operators of the case became.
fn run(folder: &Path, case: &Case) -> Result<String, Box<dyn Error>> {
    let model = Model::open(&folder.join(format!("{}.tflite", case.name)))?;
    let (mut module, _) = model.read_single(&case.options)?;
    strait_core::verifier::verify(&module).map_err(|fault| format!("the module is not valid: {fault}"))?;
    let form = forms::of(&module);
    compared::held(case, &module)?;
    let main = module.main;
    strait_rewrite::canonical().run(&mut module, main)?;
    compared::held(case, &module).map_err(|error| format!("in canonical form: {error}"))?;
    Ok(form)
}
