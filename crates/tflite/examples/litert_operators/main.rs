//! Runs TFLite files with single operators or whole models in float: once as they are read, and once in canonical form.
//! Compares the results with those of LiteRT. For whole models, the differences may reach a limit in dB.
//!
//! `cargo run -p strait-tflite --example litert_operators -- FOLDER OPERATORS [--bless] [NAME]`
//!
//! `xtask/python/tflite_operators.py` or `tflite_floats.py` writes FOLDER. OPERATORS is a file that lists, for each
//! operator, the ops that it becomes. `--bless` writes this file, and `docs/operators.md` is made from it. If NAME is
//! given, only the cases run whose names contain NAME. The program fails if a case is refused or its result differs, if
//! an operator that we read has no case, or if OPERATORS is out of date.

#[path = "../../../tensorflow/examples/graphs/cases.rs"]
mod cases;
#[path = "../../../onnx/examples/node_tests/forms.rs"]
mod forms;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use strait_import::Decoded;

use cases::{Case, Tensor};
use strait_core::{Elem, Module};
use strait_execute::{Plan, PlanOptions, TensorView, Threads, Workspace};
use strait_tflite::{Model, operators};

/// The smallest allowed ratio, in dB, between the outputs of a network and their differences from LiteRT's outputs.
const LEAST_DECIBEL: f64 = 70.0;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (options, arguments): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let is_blessed = options.iter().any(|option| option == "--bless");
    let (folder, list, only) = match arguments.as_slice() {
        [folder, list] => (Path::new(folder), Path::new(list), None),
        [folder, list, name] => (Path::new(folder), Path::new(list), Some(name.as_str())),
        _ => return Err("a folder and a list are expected".into()),
    };
    let cases = cases::read(folder)?;
    let chosen = (cases.iter()).filter(|case| only.is_none_or(|name| case.name.contains(name)));
    let mut failures = Vec::new();
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut passed = 0;
    for case in chosen {
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
    if only.is_none() && cases.iter().any(|case| case.operator.is_some()) {
        let without = operators()
            .into_iter()
            .filter(|operator| !found.contains_key(operator.name));
        failures.extend(without.map(|operator| format!("GONE    {}: it has no case", operator.name)));
        failures.extend(forms::check(list, &found, is_blessed)?);
    }
    failures.iter().for_each(|failure| println!("{failure}"));
    println!(
        "{}: {passed} of {} as in LiteRT",
        folder.display(),
        passed + failures.len()
    );
    Ok(match failures.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Runs a case. Returns the names of the ops that the operators of the case became.
fn run(folder: &Path, case: &Case) -> Result<String, Box<dyn Error>> {
    let model = Model::open(&folder.join(format!("{}.tflite", case.name)))?;
    let (mut module, _) = model.read_single(&case.options)?;
    strait_core::verifier::verify(&module).map_err(|fault| format!("the module is not valid: {fault}"))?;
    let form = forms::of(&module);
    held(case, &module)?;
    let main = module.main;
    strait_rewrite::canonical().run(&mut module, main)?;
    held(case, &module).map_err(|error| format!("in canonical form: {error}"))?;
    Ok(form)
}

/// Runs a module, and compares its results with the expected results.
fn held(case: &Case, module: &Module) -> Result<(), Box<dyn Error>> {
    let plan = Plan::new(module, module.main, &PlanOptions::default())?;
    let inputs = (case.inputs.iter()).map(|tensor| TensorView::new(tensor.elem, &tensor.shape, &tensor.bytes));
    let inputs: Vec<_> = inputs
        .map(|view| view.map(|view| view.to_tensor()))
        .collect::<Result<_, _>>()?;
    let views: Vec<_> = inputs.iter().map(strait_execute::Tensor::view).collect();
    let threads = Threads::one();
    let outputs = plan.run(&mut Workspace::new(&plan, &threads), &views)?;
    if outputs.len() != case.outputs.len() {
        return Err(format!("it has {} outputs", outputs.len()).into());
    }
    for (position, (found, expected)) in outputs.iter().zip(&case.outputs).enumerate() {
        if (found.elem(), found.shape()) != (expected.elem, expected.shape.as_slice()) {
            let (found, shape) = (found.elem(), found.shape());
            return Err(format!("{found} {shape:?} instead of {} {:?}", expected.elem, expected.shape).into());
        }
        compare(case, position, expected, found.view().bytes())?;
    }
    Ok(())
}

fn compare(case: &Case, position: usize, expected: &Tensor, found: &[u8]) -> Result<(), Box<dyn Error>> {
    let (expected, found) = (numbers(expected.elem, &expected.bytes), numbers(expected.elem, found));
    if case.operator.is_none() {
        let signal: f64 = expected.iter().map(|e| e * e).sum();
        let noise: f64 = expected.iter().zip(&found).map(|(e, f)| (e - f) * (e - f)).sum();
        let decibel = 10.0 * (signal / noise).log10();
        println!("{}, output {position}: {decibel:.1} dB", case.name);
        return match decibel >= LEAST_DECIBEL {
            true => Ok(()),
            false => Err(format!("{LEAST_DECIBEL} dB are needed").into()),
        };
    }
    let is_equal = |e: f64, f: f64| {
        let close = e.is_finite() && (e - f).abs() <= case.absolute + case.relative * e.abs();
        e == f || (e.is_nan() && f.is_nan()) || close
    };
    let differences: Vec<usize> = (0..expected.len())
        .filter(|&i| !is_equal(expected[i], found[i]))
        .collect();
    match differences.first() {
        None => Ok(()),
        Some(&first) => Err(format!(
            "output {position}: element {first} is {} instead of {}; {} of {} differ",
            found[first],
            expected[first],
            differences.len(),
            expected.len()
        )
        .into()),
    }
}

/// Converts the bytes of elements to numbers.
fn numbers(elem: Elem, bytes: &[u8]) -> Vec<f64> {
    let wide = |chunk: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    };
    let real: fn(u64) -> f64 = match elem {
        Elem::F32 => |bits| f32::from_bits(bits as u32).into(),
        Elem::F64 => f64::from_bits,
        Elem::I8 => |bits| (bits as i8).into(),
        Elem::I16 => |bits| (bits as i16).into(),
        Elem::I32 => |bits| (bits as i32).into(),
        Elem::I64 => |bits| bits as i64 as f64,
        _ => |bits| bits as f64,
    };
    bytes.chunks_exact(elem.size()).map(|chunk| real(wide(chunk))).collect()
}
