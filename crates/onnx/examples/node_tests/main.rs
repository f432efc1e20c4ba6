//! Runs ONNX's node tests, or models with operators that only ONNX Runtime has, in float, and compares the results with
//! the expected results.
//!
//! `cargo run -p strait-onnx --example node_tests -- FOLDER LIST [--bless] [--refused] [--by-operator] [NAME]`
//!
//! `xtask/python/node_tests.py` or `runtime_operators.py` writes FOLDER. LIST names the cases that pass. The program
//! fails if a case gives a wrong result, or if a case of LIST no longer passes. `--bless` adds the cases that pass to
//! LIST, and adds the ops that their operators become to the file `operators.txt` beside LIST. `--refused` shows why
//! the other cases are not read, and `--by-operator` groups the reasons by operator. With NAME, only the cases whose
//! name contains NAME run, and everything that is wrong is shown.

#[path = "../oracle/mod.rs"]
mod oracle;

use oracle::cases::{self, Case};
use oracle::numbers::{bits, differences, other_type, told};
use oracle::{Arguments, forms, outputs};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use strait_core::Elem;
use strait_execute::{ExecuteError, StepError, Tensor};
use strait_import::ReadError;
use strait_onnx::read;

/// The outcome of a case.
enum Outcome {
    /// The result is right. The field lists the ops that the model became.
    Passed(String),
    /// The model cannot be read, planned or run. The fields are the operator at fault, if one is named, and the reason.
    Refused(String, String),
    /// The result differs from the expected one only by roundings to 16-bit floats.
    Rounded,
    /// The result is wrong, or the program panicked.
    Wrong(String),
}

/// A group of cases that are counted together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Plain,
    /// The model is the body of the function that defines the operator.
    Expanded,
    /// Operands that determine shapes are inputs of the model instead of constants.
    Late,
}

fn group(case: &Case) -> Group {
    match case.name.contains("_expanded") {
        true => Group::Expanded,
        false if case.name.ends_with(".late") => Group::Late,
        false => Group::Plain,
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::read(&["--bless", "--refused", "--by-operator"])?;
    let (folder, list) = (&arguments.folder, &arguments.list);
    let has = |option: &str| arguments.has(option);
    let cases = cases::read(folder)?;
    let chosen = cases.iter().filter(|case| arguments.chooses(case));
    // A panic is one of the possible outcomes, so its message is not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let outcomes: Vec<(&Case, Outcome)> = chosen.map(|case| (case, guarded(folder, case))).collect();

    let listed: BTreeSet<String> = std::fs::read_to_string(list)?.lines().map(Into::into).collect();
    let passed: BTreeSet<&str> = outcomes
        .iter()
        .filter(|(_, outcome)| matches!(outcome, Outcome::Passed(_)))
        .map(|(case, _)| case.name.as_str())
        .collect();
    let mut failures = Vec::new();
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut refused: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (case, outcome) in &outcomes {
        match outcome {
            Outcome::Passed(form) => {
                if let Some(operator) = &case.operator {
                    found.entry(operator).or_default().insert(form.clone());
                }
            }
            Outcome::Rounded => {
                if listed.contains(&case.name) {
                    failures.push(format!("LOST    {}: it is rounded otherwise", case.name));
                }
            }
            Outcome::Wrong(text) => failures.push(format!("WRONG   {}: {text}", case.name)),
            Outcome::Refused(operator, text) => {
                if listed.contains(&case.name) {
                    failures.push(format!("LOST    {}: {text}", case.name));
                }
                let line = format!("refused {}: {text}", case.name);
                if has("--refused") || arguments.only.is_some() {
                    println!("{line}");
                }
                refused.entry(operator).or_default().push(line);
            }
        }
    }
    if has("--by-operator") {
        let mut groups: Vec<_> = refused.iter().collect();
        groups.sort_by_key(|(operator, lines)| (std::cmp::Reverse(lines.len()), **operator));
        for (operator, lines) in groups {
            println!("{:>5}  {operator}: {}", lines.len(), lines[0]);
        }
    }
    if arguments.only.is_none() {
        failures.extend(forms::check(
            &list.with_file_name("operators.txt"),
            &found,
            has("--bless"),
        )?);
        let gone = listed
            .iter()
            .filter(|name| cases.iter().all(|case| case.name != **name));
        failures.extend(gone.map(|name| format!("GONE    {name}: there is no such case")));
    }
    let new = passed.iter().filter(|name| !listed.contains(**name)).count();
    if has("--bless") && new > 0 {
        let all: BTreeSet<&str> = passed
            .iter()
            .copied()
            .chain(listed.iter().map(String::as_str))
            .collect();
        std::fs::write(list, all.iter().map(|name| format!("{name}\n")).collect::<String>())?;
    }
    for failure in &failures {
        println!("{failure}");
    }
    let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, outcome)| is(outcome)).count();
    let of = |group: Group| {
        let all = outcomes.iter().filter(|(case, _)| self::group(case) == group);
        let passed = all.clone().filter(|(_, outcome)| matches!(outcome, Outcome::Passed(_)));
        format!("{} of {}", passed.count(), all.count())
    };
    println!(
        "{}: {}, {} expanded, {} with shapes at run time; refused {}; rounded otherwise in 16 bits {}; wrong {}",
        folder.file_name().unwrap_or_default().display(),
        of(Group::Plain),
        of(Group::Expanded),
        of(Group::Late),
        count(|outcome| matches!(outcome, Outcome::Refused(..))),
        count(|outcome| matches!(outcome, Outcome::Rounded)),
        count(|outcome| matches!(outcome, Outcome::Wrong(_))),
    );
    if new > 0 {
        let done = if has("--bless") {
            "were added to"
        } else {
            "pass that are not in"
        };
        println!("{new} cases {done} {}", list.display());
    }
    Ok(if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs one case. If anything panics, that counts as a wrong result.
fn guarded(folder: &Path, case: &Case) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| run(folder, case))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Outcome::Wrong(format!("panic: {}", text.unwrap_or("without a text")))
    })
}

fn run(folder: &Path, case: &Case) -> Outcome {
    let module = match read(&folder.join(format!("{}.onnx", case.name)), &case.options) {
        Ok(module) => module,
        Err(error) => return not_read(error),
    };
    if let Err(fault) = strait_core::verifier::verify(&module) {
        return Outcome::Wrong(format!("the module is not valid: {fault}"));
    }
    let outputs = match outputs(case, &module) {
        Ok(outputs) => outputs,
        Err(error) => return not_run(&error),
    };
    if outputs.len() != case.outputs.len() {
        return Outcome::Wrong(format!("it has {} outputs", outputs.len()));
    }
    for (position, (found, expected)) in outputs.iter().zip(&case.outputs).enumerate() {
        let wrong = |text: String| Outcome::Wrong(format!("output {position}: {text}"));
        if let Some(text) = other_type(expected, found) {
            return wrong(text);
        }
        let differences = differences(case, expected, found, Elem::is_float);
        if let Some(text) = told(&differences, expected, found) {
            return match is_rounding(&differences, expected, found) {
                true => Outcome::Rounded,
                false => wrong(text),
            };
        }
    }
    Outcome::Passed(forms::of(&module))
}

/// True if only 16-bit floats differ, and by at most two steps between neighbouring floats. Such differences are
/// accepted because the expected numbers were rounded after each operation, and the computed numbers only at the end.
fn is_rounding(differences: &[usize], expected: &Tensor, found: &Tensor) -> bool {
    let (of, expected, found) = (expected.elem(), bits(expected), bits(found));
    matches!(of, Elem::BF16 | Elem::F16) && differences.iter().all(|&i| expected[i].abs_diff(found[i]) <= 2)
}

fn not_read(error: ReadError) -> Outcome {
    let operator = match &error {
        ReadError::Unsupported(faults) => faults.first().map(|fault| fault.operator.clone()),
        ReadError::Node(fault) => Some(fault.operator.clone()),
        _ => None,
    };
    let text = match &error {
        ReadError::Unsupported(faults) => faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        error => error.to_string(),
    };
    Outcome::Refused(operator.unwrap_or_else(|| "other".into()), text)
}

fn not_run(error: &ExecuteError) -> Outcome {
    match error {
        ExecuteError::Ours(_)
        | ExecuteError::InputCount { .. }
        | ExecuteError::Input { .. }
        | ExecuteError::Node {
            source: StepError::Ours(_),
            ..
        } => Outcome::Wrong(error.to_string()),
        ExecuteError::Node { op, .. } => Outcome::Refused(format!("op {op}"), error.to_string()),
        _ => Outcome::Refused("other".into(), error.to_string()),
    }
}
