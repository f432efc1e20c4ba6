//! Runs all cases of a folder and compares the results with the expected ones. Results of single operators have to be
//! within the limits of the case, and results of whole networks within a limit in dB.

use crate::oracle::cases::{self, Case};
use crate::oracle::numbers::{differences, numbers, other_type, told};
use crate::oracle::{Arguments, forms, outputs};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use strait_core::Module;
use strait_execute::Tensor;

/// The smallest allowed ratio, in dB, between the outputs of a network and their differences from the expected outputs.
const LEAST_DECIBEL: f64 = 70.0;

/// Runs all cases and reports the results; this is the body of the program. `run` runs a case, and returns the names of
/// the ops that the operators of the case became. There has to be a case for each of `operators`.
pub(crate) fn all(
    software: &str,
    operators: Vec<&'static str>,
    run: fn(&Path, &Case) -> Result<String, Box<dyn Error>>,
) -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::read(&["--bless"])?;
    let folder = &arguments.folder;
    let cases = cases::read(folder)?;
    let mut failures = Vec::new();
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut passed = 0;
    for case in cases.iter().filter(|case| arguments.chooses(case)) {
        match run(folder, case) {
            Ok(form) => {
                passed += 1;
                if let Some(operator) = &case.operator {
                    found.entry(operator).or_default().insert(form);
                }
            }
            Err(error) => failures.push(format!("WRONG   {}: {error}", case.name)),
        }
    }
    if arguments.only.is_none() && cases.iter().any(|case| case.operator.is_some()) {
        let without = operators.into_iter().filter(|name| !found.contains_key(name));
        failures.extend(without.map(|name| format!("GONE    {name}: it has no case")));
        failures.extend(forms::check(&arguments.list, &found, arguments.has("--bless"))?);
    }
    failures.iter().for_each(|failure| println!("{failure}"));
    let count = passed + failures.len();
    println!("{}: {passed} of {count} as in {software}", folder.display());
    Ok(match failures.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Runs a module, and compares its results with the expected results.
pub(crate) fn held(case: &Case, module: &Module) -> Result<(), Box<dyn Error>> {
    let outputs = outputs(case, module)?;
    if outputs.len() != case.outputs.len() {
        return Err(format!("it has {} outputs", outputs.len()).into());
    }
    for (position, (found, expected)) in outputs.iter().zip(&case.outputs).enumerate() {
        let fault = other_type(expected, found).or_else(|| match case.operator {
            None => noise(&format!("{}, output {position}", case.name), expected, found),
            Some(_) => told(&differences(case, expected, found, |_| true), expected, found),
        });
        if let Some(fault) = fault {
            return Err(format!("output {position}: {fault}").into());
        }
    }
    Ok(())
}

/// Prints the noise of a network's output, and returns a message if it is above the limit.
fn noise(output: &str, expected: &Tensor, found: &Tensor) -> Option<String> {
    let (expected, found) = (numbers(expected), numbers(found));
    let signal: f64 = expected.iter().map(|e| e * e).sum();
    let noise: f64 = expected.iter().zip(&found).map(|(e, f)| (e - f) * (e - f)).sum();
    let decibel = 10.0 * (signal / noise).log10();
    println!("{output}: {decibel:.1} dB");
    match decibel >= LEAST_DECIBEL {
        true => None,
        false => Some(format!("{LEAST_DECIBEL} dB are needed")),
    }
}
