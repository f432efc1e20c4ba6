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

mod cases;
mod forms;
mod numbers;

use cases::{Case, Group, Tensor};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use strait_core::Elem;
use strait_execute::{ExecuteError, Plan, PlanOptions, StepError, TensorView, Threads, Workspace};
use strait_import::{ReadError, ReadOptions};
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

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (options, arguments): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    if let Some(unknown) = options
        .iter()
        .find(|o| !["--bless", "--refused", "--by-operator"].contains(&o.as_str()))
    {
        return Err(format!("`{unknown}` is no option").into());
    }
    let has = |option: &str| options.iter().any(|o| o == option);
    let (folder, list, only) = match arguments.as_slice() {
        [folder, list] => (Path::new(folder), Path::new(list), None),
        [folder, list, name] => (Path::new(folder), Path::new(list), Some(name.as_str())),
        _ => return Err("a folder and a list are expected".into()),
    };
    let cases = cases::read(folder)?;
    let chosen: Vec<&Case> = cases
        .iter()
        .filter(|case| only.is_none_or(|name| case.name.contains(name)))
        .collect();
    // A panic is one of the possible outcomes, so its message is not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let outcomes: Vec<(&Case, Outcome)> = chosen.iter().map(|case| (*case, guarded(folder, case))).collect();

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
                if has("--refused") || only.is_some() {
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
    if only.is_none() {
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
        let all = outcomes.iter().filter(|(case, _)| case.group() == group);
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
    let module = match read(&folder.join(format!("{}.onnx", case.name)), &ReadOptions::default()) {
        Ok(module) => module,
        Err(error) => return not_read(error),
    };
    if let Err(fault) = strait_core::verifier::verify(&module) {
        return Outcome::Wrong(format!("the module is not valid: {fault}"));
    }
    let plan = match Plan::new(&module, module.main, &PlanOptions::default()) {
        Ok(plan) => plan,
        Err(error) => return not_run(&error),
    };
    let inputs = case
        .inputs
        .iter()
        .map(|tensor| TensorView::new(tensor.elem, &tensor.shape, &tensor.bytes).map(|view| view.to_tensor()));
    let inputs = match inputs.collect::<Result<Vec<_>, _>>() {
        Ok(inputs) => inputs,
        Err(error) => return Outcome::Wrong(error.to_string()),
    };
    let views: Vec<_> = inputs.iter().map(strait_execute::Tensor::view).collect();
    let threads = Threads::one();
    let outputs = match plan.run(&mut Workspace::new(&plan, &threads), &views) {
        Ok(outputs) => outputs,
        Err(error) => return not_run(&error),
    };
    if outputs.len() != case.outputs.len() {
        return Outcome::Wrong(format!("it has {} outputs", outputs.len()));
    }
    for (position, (found, expected)) in outputs.iter().zip(&case.outputs).enumerate() {
        match compare(expected, found, case) {
            Ok(()) => {}
            Err(difference) if difference.is_rounding => return Outcome::Rounded,
            Err(difference) => return Outcome::Wrong(format!("output {position}: {}", difference.text)),
        }
    }
    Outcome::Passed(forms::of(&module))
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

fn compare(expected: &Tensor, found: &strait_execute::Tensor, case: &Case) -> Result<(), numbers::Difference> {
    let of = |elem: Elem, shape: &[usize]| format!("{elem} {}", extents(shape));
    if (found.elem(), found.shape()) != (expected.elem, expected.shape.as_slice()) {
        let (found, expected) = (of(found.elem(), found.shape()), of(expected.elem, &expected.shape));
        return Err(numbers::Difference {
            text: format!("{found} instead of {expected}"),
            is_rounding: false,
        });
    }
    let bytes = found.view();
    numbers::compare(
        expected.elem,
        &expected.bytes,
        bytes.bytes(),
        case.relative,
        case.absolute,
    )
}

fn extents(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", extents.join(", "))
}
