//! Compiles a model from a file to integers, for every target that is shipped with Strait.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{path::Path, sync::Arc};

use strait_builtin as _;
use strait_compile::{CompileError, InMemory, Means, Model, Resolved, Silent};
use strait_core::{Module, Switches};
use strait_execute::{Tensor, Threads};
use strait_import::{ReadOptions, free_dimensions};
use strait_lower::FusionPolicy;
use strait_onnx::read;
use strait_target::{Options, Registry};
use strait_verify::{VerifyOptions, verify_module};

const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits/digits.onnx");

/// Pseudorandom samples. What these tests prove does not depend on the numbers.
fn noise(module: &Module) -> InMemory {
    let graph = module.main();
    let sample = |index: usize| {
        let input = |&id| {
            let dims = graph.value(id).unwrap().ty.dims().unwrap();
            let shape: Vec<usize> = dims.iter().map(|&extent| extent as usize).collect();
            let value = |i: usize| ((i * 2_654_435_761 + index * 40_503) % 1009) as f32 / 1009.0 - 0.3;
            let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
            Tensor::from_values(&shape, &values).unwrap()
        };
        graph.inputs().iter().map(input).collect()
    };
    InMemory((0..4).map(sample).collect())
}

/// The model, with every free dimension set to 1.
fn digits() -> Module {
    let path = Path::new(DIGITS);
    let free = free_dimensions(&read(path, &ReadOptions::default()).unwrap());
    let options = ReadOptions {
        bind: free.into_iter().map(|dimension| (dimension.name, 1)).collect(),
        ..ReadOptions::default()
    };
    read(path, &options).unwrap()
}

#[test]
fn the_digits_model_is_sound_for_every_target() {
    let model = Model::new(digits(), &Switches::default()).unwrap();
    let samples = noise(&model.module);
    let observed = model.observe(Arc::new(samples), Means::default(), &Silent).unwrap();
    let registry = Registry::builtin().unwrap();
    let threads = Threads::one();
    let mut fused = 0;
    for (id, _) in registry.entries() {
        let target = registry.get(id, &Options::default()).unwrap();
        let resolve = |_: &Module| {
            Ok::<_, CompileError>(Resolved {
                fusion: FusionPolicy::Exact,
                ..Resolved::new(target.spec())
            })
        };
        let built = observed.compile(&target, resolve, &Silent).unwrap();
        let report = verify_module(&built.module, &built.certificates, &VerifyOptions::new(&threads)).unwrap();
        assert_eq!(report.findings, [], "{id}");
        assert!(
            report.compared && report.exact >= built.certificates.len(),
            "{id}: {report:?}"
        );
        fused += built.certificates.len();
    }
    assert!(fused > 0);
}
