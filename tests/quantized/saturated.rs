//! Tests ranges that end far inside of the computed values, as learned clipping makes them. The artifact, on the
//! accelerator and on the host, computes the same as ONNX Runtime without optimizations, and so does the float
//! reference of `eval`.
//!
//! After the line `---`, each file in `saturation` has the outputs of ONNX Runtime, which xtask/python/saturation.py
//! records.

use super::*;
use std::collections::BTreeMap;
use strait_driver::{eval, run};
use strait_evaluate::Metric;
use strait_samples::Array;

/// The least SNR of integers compared with the model, in decibels.
const NEAR: f64 = 30.0;

/// The power of the expected numbers divided by that of the difference, in decibels.
fn ratio(expected: &[f32], found: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let power: f64 = expected.iter().map(|&x| square(x.into())).sum();
    let pairs = expected.iter().zip(found);
    let change: f64 = pairs.map(|(&a, &b)| square(f64::from(a) - f64::from(b))).sum();
    10.0 * (power / change).log10()
}

#[test]
fn a_value_on_a_given_grid_ends_where_the_grid_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("quantized/saturation");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let mut wrong = String::new();
    for path in paths {
        let file = fs::read_to_string(&path).unwrap();
        let (text, recorded) = file.split_once(RESULT).unwrap();
        let outputs: BTreeMap<&str, Vec<f32>> = recorded
            .lines()
            .map(|line| {
                let (name, numbers) = line.split_once(": ").unwrap();
                let numbers = numbers.split_whitespace().map(|number| number.parse().unwrap());
                (name, numbers.collect())
            })
            .collect();
        for target in TARGETS {
            let case = format!("{} for {target}", path.file_stem().unwrap().display());
            for (what, found) in measured(text, target, &outputs) {
                println!("{case}: {what} {found:.1} dB");
                if found < NEAR {
                    writeln!(wrong, "{case}: {what} is {found:.1} dB from the model").unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// How far an artifact is from what was recorded, and what `eval` reports, each with a name.
fn measured(text: &str, target: &str, outputs: &BTreeMap<&str, Vec<f32>>) -> Vec<(String, f64)> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("model.onnx"), onnx::file(text)).unwrap();
    samples(folder.path(), text);
    let config = format!(
        "schema = 1\nmodel.file = 'model.onnx'\ntarget.use = ['{target}']\ncalibration.data = 'x.npy'\n\
         calibration.cache = 'cache'\noutput.dir = 'artifact'\n"
    );
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let loaded = config::parse("model.toml", config, folder.path(), &[]).unwrap();
    let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
    let compiled = compiled.unwrap_or_else(|stop| panic!("{target}: {stop}")).remove(0);
    let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap()).unwrap();
    let files = BTreeMap::from([("x".to_owned(), at("x.npy"))]);
    fs::create_dir(at("found")).unwrap();
    let written = run::run(&opened, &files, &at("found"), false, &session).unwrap();
    let mut all = Vec::new();
    for path in written
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "npy"))
    {
        // The file name begins with the output's index.
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let name = stem.split_once('_').unwrap().1;
        let found: Vec<f32> = Array::open(path)
            .unwrap()
            .view::<f32>()
            .unwrap()
            .iter()
            .copied()
            .collect();
        all.push((format!("`{name}`"), ratio(&outputs[name], &found)));
    }
    assert_eq!(all.len(), outputs.len(), "{target}");
    let float = eval::FloatSide {
        file: &at("model.onnx"),
        any: false,
    };
    let samples = at("x.npy");
    let request = eval::EvaluationRequest::of(&samples, None, &[Metric::Snr]);
    let accuracy = eval::eval(&opened, request, Some(float), None, &session).unwrap();
    for metric in &accuracy.accuracy.metrics {
        let output = metric.output.as_deref().unwrap_or_default();
        let figure = metric.integer.as_ref().unwrap().value;
        all.push((format!("`{output}`, as `eval` says it,"), figure));
    }
    all
}
