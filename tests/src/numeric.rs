//! Inputs and results of graphs, and how far results differ, for tests that compare numbers.
#![allow(clippy::unwrap_used, reason = "it serves tests, which may panic")]

use std::num::NonZeroUsize;
use strait_core::text::random::SplitMix64;
use strait_core::{GraphId, Module};
use strait_execute::{Plan, PlanOptions, Tensor, TensorView, Threads, Workspace};
use strait_kernels::{Context, Isa};

/// Random inputs of the main graph, uniform in `[-scale, scale)`.
pub fn inputs(module: &Module, seed: u64, scale: f32) -> Vec<Tensor> {
    let mut random = SplitMix64::new(seed);
    let graph = module.main();
    let shapes = graph
        .inputs()
        .iter()
        .map(|&v| graph.value(v).unwrap().ty.dims().unwrap());
    let tensor = |dims: &[u64]| {
        let shape: Vec<usize> = dims.iter().map(|&d| d as usize).collect();
        let count = shape.iter().product();
        let real = |_| ((random.next_u64() >> 40) as f32 / 8_388_608.0 - 1.0) * scale;
        Tensor::from_values(&shape, &(0..count).map(real).collect::<Vec<f32>>()).unwrap()
    };
    let shapes: Vec<Vec<u64>> = shapes.map(|dims| dims.to_vec()).collect();
    shapes.iter().map(Vec::as_slice).map(tensor).collect()
}

/// The results of a graph with the loops of one instruction set.
pub fn run(module: &Module, graph: GraphId, inputs: &[Tensor], isa: Isa, threads: usize) -> Vec<Tensor> {
    let options = PlanOptions {
        context: Context::with_isa(isa),
        ..PlanOptions::default()
    };
    let plan = Plan::new(module, graph, &options).unwrap();
    let threads = Threads::new(NonZeroUsize::new(threads).unwrap());
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    plan.run(&mut Workspace::new(&plan, &threads), &views).unwrap()
}

/// The ratio of the mean squares of signal and error, in decibels.
pub fn signal_to_noise(float: &[f32], found: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let signal: f64 = float.iter().map(|&f| square(f.into())).sum();
    let noise: f64 = float
        .iter()
        .zip(found)
        .map(|(&f, &q)| square(f64::from(f) - f64::from(q)))
        .sum();
    if noise == 0.0 {
        return f64::INFINITY;
    }
    10.0 * (signal / noise).log10()
}
