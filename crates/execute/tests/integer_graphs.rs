//! Tests on random graphs that plans give the same bits as the plain interpreter, for every instruction set and number
//! of threads, with and without joins.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::random::Maker;
use common::{options, run_with};
use strait_core::Module;
use strait_execute::{PlanOptions, Tensor, TensorView, reference};
use strait_kernels::Isa;

fn check(seed: u64, module: &Module, inputs: &[Tensor]) {
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let expected = reference::run(module, module.main, &views, &mut |_, _| {})
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    for isa in Isa::available() {
        for join in [false, true] {
            for threads in [1, 2] {
                let options = PlanOptions { join, ..options(isa) };
                let found = run_with(module, inputs, &options, threads)
                    .unwrap_or_else(|error| panic!("seed {seed}, {isa:?}: {error}"));
                assert!(
                    found == expected,
                    "seed {seed}, {isa:?}, join {join}, {threads} threads"
                );
            }
        }
    }
}

#[test]
fn random_graphs_give_the_same_bytes() {
    for seed in 0..300 {
        let (module, inputs) = Maker::new(seed).graph(1 + seed as usize % 13);
        check(seed, &module, &inputs);
    }
}
