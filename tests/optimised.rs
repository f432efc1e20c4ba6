//! Codes, biases and ranges that are chosen from samples.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::num::NonZeroUsize;
use std::sync::Arc;
use strait_builtin as _;
use strait_compile::{Algorithms, Built, Choice, InMemory, Means, Model, Optimising, Resolved, Silent, Task, build};
use strait_core::text::{PrintOptions, parse, print};
use strait_core::{CodesOrigin, Module, Switches};
use strait_execute::{Limits, Tensor};
use strait_target::spec::{Activation, Integer};
use strait_tests::numeric::inputs;
use strait_tests::passes::target;
use strait_tests::random_graph::random_graph;
use strait_verify::Ranges;

const ALL: Algorithms = Algorithms {
    correct_bias: true,
    round: true,
    repair: true,
    ranges: true,
    smooth: false,
    equalize: false,
};

/// Two convolutions, of which the second one reads what the first one makes, and a matrix product.
const NETWORK: &str = "strait 1 float
graph @main(%x: f32[1,3,8,8]) {
  %a: f32[1,8,8,8] = conv(%x, @w1, @b1) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}
  %b: f32[1,8,8,8] = relu(%a)
  %c: f32[1,8,4,4] = conv(%b, @w2, @b2) {stride=[2,2], pad=[1,1,1,1], dilation=[1,1], groups=8, pad_value=0}
  %d: f32[1,8,4,4] = relu(%c)
  %e: f32[1,128] = reshape(%d) {shape=[1,128]}
  %f: f32[1,10] = gemm(%e, @w3) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  return %f
}
data @w1: f32[8,3,3,3] = random 1
data @b1: f32[8] = random 2
data @w2: f32[8,1,3,3] = random 3
data @b2: f32[8] = random 4
data @w3: f32[10,128] = random 5
";

fn samples(float: &Module, count: u64) -> InMemory {
    InMemory((0..count).map(|at| smooth(float, 77 + at)).collect())
}

/// Inputs in which neighbouring elements are alike, as in images.
fn smooth(float: &Module, seed: u64) -> Vec<Tensor> {
    let mut tensors = inputs(float, seed, 1.0);
    for tensor in &mut tensors {
        if let Ok(values) = tensor.values_mut::<f32>() {
            let mut last = 0.0;
            for value in values {
                last = 0.9 * last + 0.4 * *value;
                *value = last;
            }
        }
    }
    tensors
}

fn built(float: &Module, samples: &InMemory, name: &str, algorithms: Option<Algorithms>, threads: usize) -> Built {
    built_with((None, None), (float, samples, name), algorithms, threads)
}

/// Compiles with weights and activations of some types.
fn built_with(
    (weights, activations): (Option<Integer>, Option<Activation>),
    (float, samples, name): (&Module, &InMemory, &str),
    algorithms: Option<Algorithms>,
    threads: usize,
) -> Built {
    let target = target(name).unwrap();
    let model = Model::new(float.clone(), &Switches::default()).unwrap();
    let observed = model
        .observe(Arc::new(samples.clone()), Means::default(), &Silent)
        .unwrap();
    let mut resolved = Resolved::new(target.spec());
    resolved.settings.default.weights.ty = weights;
    resolved.settings.default.activation = activations;
    let task = Task {
        float: &observed.model.module,
        bodies: &observed.model.bodies,
        observation: &observed.observation,
        target: &target,
        resolved: &resolved,
        ranges: &Ranges::default(),
        optimise: algorithms.map(|algorithms| Optimising { samples, algorithms }),
        on_copy: None,
        random_inputs: 1,
        is_revised: true,
        limits: Limits::default(),
        threads: NonZeroUsize::new(threads).unwrap(),
    };
    build(&task, &Silent).unwrap()
}

fn text(module: &Module) -> String {
    let all = PrintOptions {
        inline_limit: usize::MAX,
        ..PrintOptions::default()
    };
    print(module, &all)
}

/// What the simulated model makes at its outputs minus what the float model makes, sample by sample.
fn differences(float: &Module, built: &Built, samples: &[Vec<Tensor>]) -> Vec<Vec<f64>> {
    let runs = |module: &Module| -> Vec<Vec<f32>> {
        let plan = strait_execute::Plan::new(module, module.main, &strait_execute::PlanOptions::default()).unwrap();
        let mut workspace = strait_execute::Workspace::new(&plan, &strait_execute::Threads::one());
        let run = |sample: &Vec<Tensor>| -> Vec<f32> {
            let views: Vec<_> = sample.iter().map(Tensor::view).collect();
            let outputs = plan.run(&mut workspace, &views).unwrap();
            let values = |tensor: &Tensor| tensor.values::<f32>().unwrap().to_vec();
            outputs.iter().flat_map(values).collect()
        };
        samples.iter().map(run).collect()
    };
    let simulated = strait_lower::simulate(&built.annotated, None, strait_lower::Parameters::Reals).unwrap();
    let pairs = runs(float).into_iter().zip(runs(&simulated));
    pairs
        .map(|(exact, made)| exact.iter().zip(&made).map(|(a, b)| f64::from(b - a)).collect())
        .collect()
}

/// The error of the simulated model at its outputs, over samples that no algorithm has seen.
fn error(float: &Module, built: &Built, seed: u64) -> f64 {
    let unseen: Vec<Vec<Tensor>> = (0..16).map(|at| smooth(float, seed + at)).collect();
    let differences = differences(float, built, &unseen);
    differences
        .iter()
        .flatten()
        .map(|difference| difference * difference)
        .sum()
}

#[test]
fn corrected_biases_make_the_means_of_the_outputs_right() {
    let text = NETWORK.replace("gemm(%e, @w3)", "gemm(%e, @w3, @b3)") + "data @b3: f32[10] = random 6\n";
    let float = parse(&text).unwrap();
    // With inputs around 2, a weight that is rounded up or down moves the mean of an output.
    let mut samples = samples(&float, 64);
    let tensors = samples.0.iter_mut().flatten();
    let values = tensors.flat_map(|tensor| tensor.values_mut::<f32>().unwrap());
    values.for_each(|value| *value += 2.0);
    let bias = Algorithms {
        correct_bias: true,
        ..Algorithms::default()
    };
    // The means over the samples from which biases are computed: each fourth one only judges.
    let learned: Vec<Vec<Tensor>> = samples
        .0
        .iter()
        .enumerate()
        .filter(|(at, _)| at % 4 != 3)
        .map(|(_, sample)| sample.clone())
        .collect();
    let [plain, corrected] = [None, Some(bias)].map(|how| {
        let built = built_with((Some(Integer::Int4), None), (&float, &samples, "generic-int8"), how, 1);
        let differences = differences(&float, &built, &learned);
        let mean = |output: usize| differences.iter().map(|one| one[output]).sum::<f64>() / learned.len() as f64;
        (0..10).map(|output| mean(output).abs()).fold(0.0, f64::max)
    });
    // What is left are the roundings of the outputs.
    assert!(corrected < 0.1 * plain, "{corrected} of {plain}");
}

#[test]
fn weights_of_four_bits_lose_much_less_on_samples_that_nobody_saw() {
    let float = parse(NETWORK).unwrap();
    let model = (&float, &samples(&float, 64), "generic-int8");
    let [plain, optimised] = [None, Some(ALL)].map(|how| built_with((Some(Integer::Int4), None), model, how, 1));
    let errors = [&plain, &optimised].map(|built| error(&float, built, 5000));
    assert!(errors[1] < 0.6 * errors[0], "{errors:?}");
    let layers = &optimised.optimised.as_ref().unwrap().layers;
    assert_eq!((layers.layers.len(), layers.untouched.len()), (3, 0));
    assert!(
        layers.layers.values().all(|layer| layer.choice > Choice::Bias),
        "{layers:?}"
    );
    let table = &optimised.annotated.main().quant;
    let chosen = table.iter().filter_map(|(id, _)| table.codes(id));
    // The weights of three layers, and two biases.
    assert_eq!(chosen.filter(|codes| codes.origin == CodesOrigin::Optimised).count(), 5);
}

/// A layer that computes in real numbers has codes only for its weights. Its bias is a real number that nobody corrects.
#[test]
fn weights_alone_are_rounded_together_beside_a_real_bias() {
    let text = NETWORK.replace("gemm(%e, @w3)", "gemm(%e, @w3, @b3)") + "data @b3: f32[10] = random 6\n";
    let float = parse(&text).unwrap();
    let samples = samples(&float, 64);
    let errors = [None, Some(ALL)].map(|how| {
        let types = (Some(Integer::Int4), Some(Activation::Float32));
        let built = built_with(types, (&float, &samples, "generic-int8"), how, 1);
        error(&float, &built, 5000)
    });
    assert!(errors[1] < 0.6 * errors[0], "{errors:?}");
}

#[test]
fn the_number_of_threads_changes_no_code() {
    let mut optimised = 0;
    for seed in 0..6 {
        let float = parse(&random_graph(seed, 25)).unwrap();
        let samples = samples(&float, 8);
        for name in ["generic-int8", "sima", "ascend"] {
            let models = [1, 2, 3].map(|threads| built(&float, &samples, name, Some(ALL), threads));
            let texts = models.each_ref().map(|model| text(&model.module));
            assert!(texts[0] == texts[1] && texts[0] == texts[2], "seed {seed} for {name}");
            let layers = models
                .each_ref()
                .map(|model| &model.optimised.as_ref().unwrap().layers.layers);
            optimised += layers[0].len();
            assert_eq!(
                format!("{:?}", layers[0]),
                format!("{:?}", layers[1]),
                "seed {seed} for {name}"
            );
            strait_core::verifier::verify(&models[0].annotated).unwrap();
        }
    }
    assert!(optimised > 20, "{optimised}");
}

#[test]
fn too_few_samples_judge_nothing() {
    let float = parse(NETWORK).unwrap();
    let samples = samples(&float, 3);
    let plain = built(&float, &samples, "generic-int8", None, 1);
    let optimised = built(&float, &samples, "generic-int8", Some(ALL), 1);
    assert_eq!(text(&plain.module), text(&optimised.module));
    let done = optimised.optimised.unwrap();
    assert!(done.ranges.is_none() && done.layers.layers.is_empty());
    let why: Vec<&str> = done.layers.untouched.values().map(|why| why.0.as_str()).collect();
    assert_eq!(why.len(), 3);
    assert!(why[0].contains("4 samples or more"), "{why:?}");
}

#[test]
fn layers_whose_codes_cannot_be_chosen_say_why() {
    let text = NETWORK.replace(
        "return %f",
        "%g: f32[1,10] = gemm(%e, @w3) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}\n  return %f, %g",
    );
    let float = parse(&text).unwrap();
    let done = built(&float, &samples(&float, 8), "generic-int8", Some(ALL), 1)
        .optimised
        .unwrap();
    let why = done.layers.untouched.values().map(|why| why.0.as_str());
    let shared = why.filter(|why| *why == "other layers share its weights");
    assert_eq!(shared.count(), 2);
}
