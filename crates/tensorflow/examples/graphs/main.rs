//! Runs frozen TensorFlow graphs in float and compares the results with TensorFlow's.
//!
//! `cargo run -p strait-tensorflow --example graphs -- FOLDER OPERATORS [--bless] [NAME]`
//!
//! `xtask/python/tensorflow_operators.py` or `tensorflow_models.py` writes FOLDER. OPERATORS is a file that lists, for
//! each operator, the ops that it becomes. `--bless` writes this file, and `docs/operators.md` is made from it. If NAME
//! is given, only the cases run whose names contain NAME. The program fails if a case is refused or its result differs,
//! if an operator that we read has no case, or if OPERATORS is out of date. For a graph with several operators, the
//! program prints the noise of the graph's outputs in dB. The noise has to be at least 70 dB below the outputs.

mod compared;
#[path = "../../../onnx/examples/oracle/mod.rs"]
mod oracle;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use oracle::cases::Case;
use oracle::forms;
use strait_tensorflow::{operators, read};

/// Operators that have side effects and pass their operand on. There are no cases for these operators; their lines in
/// OPERATORS are written by hand.
const NO_CASES: [&str; 3] = ["CheckNumericsV2", "EnsureShape", "Print"];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let operators = operators().into_iter().filter(|name| !NO_CASES.contains(name));
    compared::all("TensorFlow", operators.collect(), run)
}

/// Runs a case. Returns the names of the ops that the operators of the case became.
fn run(folder: &Path, case: &Case) -> Result<String, Box<dyn Error>> {
    let module = read(&folder.join(format!("{}.pb", case.name)), &case.options)?;
    strait_core::verifier::verify(&module).map_err(|fault| format!("the module is not valid: {fault}"))?;
    compared::held(case, &module)?;
    Ok(forms::of(&module))
}
