//! Tests that each graph in the filetests of a rule computes the same numbers after the rule was applied.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::fs;
use std::path::Path;

use strait_core::{Elem, Module, text};
use strait_kernels::Isa;
use strait_tests::numeric::{inputs, run, signal_to_noise};
use strait_tests::passes::{Outcome, find};

/// The least SNR. Sums may run in another order, and parameters may be rounded once more.
const LEAST_DECIBEL: f64 = 110.0;

/// The rule of a filetest, and its graph.
fn case(text: &str) -> Option<(&str, Module)> {
    let rule = text.lines().find_map(|line| line.strip_prefix("; run: rewrite "))?;
    let graph = text.split("\n; expect").next()?;
    Some((rule, text::parse(graph).unwrap()))
}

/// True if the inputs and results are floats of known shapes. Floats with a scale are excluded, since rules may round
/// there.
fn can_run(module: &Module) -> bool {
    let graph = module.main();
    let is_plain = |id: &_| {
        let value = graph.value(*id).unwrap();
        value.ty.elem == Elem::F32 && value.ty.dims().is_some()
    };
    let ends = graph.inputs().iter().chain(graph.outputs());
    let has_grids = graph
        .values()
        .any(|(_, value)| value.quant.is_some() && value.ty.elem == Elem::F32);
    ends.clone().all(is_plain) && !has_grids
}

#[test]
fn a_rewritten_filetest_computes_the_same_numbers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests/rewrite");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut compared = 0;
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let Some((rule, plain)) = case(&text).filter(|(_, module)| can_run(module)) else {
            continue;
        };
        let mut rewritten = plain.clone();
        let Outcome::Module(remarks) = find("rewrite").unwrap()(&mut rewritten, rule)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        else {
            panic!("{rule} is no rewrite");
        };
        // Some filetests show what stays unchanged.
        if !remarks.iter().any(|remark| remark.contains(" applied at ")) {
            continue;
        }
        let given = inputs(&plain, 7, 1.0);
        let [before, after] = [&plain, &rewritten].map(|module| run(module, module.main, &given, Isa::Scalar, 1));
        for (place, (before, after)) in before.iter().zip(&after).enumerate() {
            assert_eq!(before.shape(), after.shape());
            // Numbers that are not finite must be the same.
            let [before, after] = [before, after].map(|tensor| tensor.values::<f32>().unwrap());
            let pairs = before.iter().zip(after).map(|(&b, &a)| (b, a));
            let is_finite = |&(b, a): &(f32, f32)| b.is_finite() || a.is_finite();
            let (before, after): (Vec<f32>, Vec<f32>) = pairs.filter(is_finite).unzip();
            let near = signal_to_noise(&before, &after);
            assert!(near > LEAST_DECIBEL, "{}: result {place}: {near} dB", path.display());
        }
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}
