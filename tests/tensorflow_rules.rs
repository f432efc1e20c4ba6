//! Tests graphs that TensorFlow 2.15.1 wrote, for each fusion that AMCT documents and each way to write it. They are
//! read, made canonical, run in float and compared with TensorFlow's own results. Some rules must be applied, and
//! others must not. `tests/tensorflow/make_graphs.py` makes the graphs, each frozen as by TensorFlow 1 and as by
//! TensorFlow 2.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use strait_core::{Module, Rewritten, Rule};
use strait_execute::Tensor;
use strait_import::{Decoded, ReadOptions};
use strait_kernels::Isa;
use strait_samples::{Array, read_arrays};
use strait_tests::numeric::run;

/// The table. For each graph it has the fusion of [`FUSIONS`] that it shows, the rules that must be applied, those that
/// must not, and the ops that are left.
const TABLE: &str = include_str!("tensorflow/rules.txt");

/// Fusions that AMCT documents for TensorFlow, and our further ones. Two of AMCT's are only covered by filetests:
/// transposed convolutions with groups, which TensorFlow does not write (`batch-normalization-into-producer-moves`),
/// and ReLU6 before a quantization, which needs scales (`relu6-to-relu`).
const FUSIONS: &[(&str, &str)] = &[
    (
        "conv-bn",
        "a convolution over one, two or three axes and a batch normalization",
    ),
    ("depthwise-bn", "a depthwise convolution and a batch normalization"),
    ("transposed-bn", "a transposed convolution and a batch normalization"),
    (
        "dense-bn-scale",
        "a fully connected layer, a batch normalization and Scale",
    ),
    (
        "bn-conv",
        "a batch normalization, with Scale, in front of a convolution",
    ),
    (
        "bn-constants",
        "a batch normalization and a product or sum with constants",
    ),
    (
        "blocks-bn",
        "a convolution of blocks, BatchToSpace and a batch normalization",
    ),
    (
        "scalar",
        "what has weights, a bias or none, and a product with one number",
    ),
    (
        "factors",
        "the same with one number for each channel, which AMCT does not fold",
    ),
    (
        "branches-bn",
        "convolutions between split and concat, and a batch normalization",
    ),
    (
        "branches",
        "convolutions between split and concat that are one grouped convolution",
    ),
    ("bias", "what has weights and a sum with a constant"),
    (
        "dense-reshape-bn",
        "a product with a matrix, and a batch normalization between two reshapes",
    ),
    ("spelled-out-bn", "a batch normalization in single operations"),
    ("transposed-weight", "a product with a matrix that is transposed"),
    ("identity", "identities and dropout"),
];

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tensorflow/graphs"))
}

/// A line of the table: `GRAPH: FUSION | FIRES … | NEVER … | OP …`.
struct Case {
    graph: &'static str,
    fusion: &'static str,
    fires: Vec<&'static str>,
    never: Vec<&'static str>,
    left: Vec<&'static str>,
}

fn table() -> Vec<Case> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let case = |line: &'static str| {
        let (graph, rest) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        let parts: Vec<Vec<&str>> = rest.split('|').map(|part| part.split_whitespace().collect()).collect();
        let [fusion, fires, never, left] = <[_; 4]>::try_from(parts).unwrap_or_else(|_| panic!("{line}"));
        Case {
            graph,
            fusion: fusion[0],
            fires,
            never,
            left,
        }
    };
    lines.map(case).collect()
}

fn tensor(array: &Array) -> Tensor {
    Tensor::from_values(array.shape(), &array.reals()).unwrap()
}

/// The ops of the main graph in order.
fn ops(module: &Module) -> Vec<&'static str> {
    let graph = module.main();
    let order = graph.topological_order().unwrap();
    order
        .iter()
        .map(|&id| graph.node(id).unwrap().op.term().name())
        .collect()
}

/// Everything that is wrong with one frozen graph.
fn wrong(case: &Case, file: &str, module: &mut Module, x: &Tensor, y: &Array) -> Vec<String> {
    let main = module.main;
    let done: Rewritten = strait_rewrite::canonical().run(module, main).unwrap();
    strait_core::verifier::verify(module).unwrap();
    let fired: BTreeSet<&str> = done.applied.iter().map(|(rule, _)| *rule).collect();
    let mut wrong = Vec::new();
    let missing = case.fires.iter().filter(|rule| !fired.contains(**rule));
    wrong.extend(missing.map(|rule| format!("{rule} does not fire: {fired:?}, {:?}", done.refused)));
    let other = case.never.iter().filter(|rule| fired.contains(**rule));
    wrong.extend(other.map(|rule| format!("{rule} fires")));
    let left = ops(module);
    if left != case.left {
        wrong.push(format!("left are {} after {fired:?}", left.join(" ")));
    }
    let found = run(module, main, std::slice::from_ref(x), Isa::Scalar, 1);
    let (found, expected) = (found[0].values::<f32>().unwrap(), y.reals());
    assert_eq!(found.len(), expected.len(), "{file}");
    let largest = expected
        .iter()
        .fold(0.0, |largest: f32, value| largest.max(value.abs()));
    let is_near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-4 * largest;
    let far = found.iter().zip(&expected).filter(|&pair| !is_near(pair)).count();
    if far > 0 {
        wrong.push(format!("{far} of {} results differ", expected.len()));
    }
    wrong.into_iter().map(|text| format!("{file}: {text}")).collect()
}

#[test]
fn graphs_of_tensorflow_are_fused_as_the_table_says_and_compute_what_tensorflow_does() {
    let arrays = read_arrays(&folder().join("arrays.npz"), 1 << 20).unwrap();
    let operands: BTreeMap<&[usize], Tensor> = arrays
        .iter()
        .filter(|(name, _)| name.starts_with("x_"))
        .map(|(_, array)| (array.shape(), tensor(array)))
        .collect();
    let mut found = Vec::new();
    for case in table() {
        let y = &arrays[case.graph];
        for version in [1, 2] {
            let file = format!("{}.{version}.pb", case.graph);
            let model = strait_tensorflow::Model::open(&folder().join(&file)).unwrap();
            // Some graphs have an open batch dimension, and so do their results in the arrays.
            let mut options = ReadOptions::default();
            let is_free = ["dynamic", "keras_dense"].iter().any(|word| case.graph.contains(word));
            if is_free {
                options.bind.insert("x:0.0".to_owned(), y.shape()[0] as u64);
            }
            let module = model.read(&options);
            let mut module = module.unwrap_or_else(|error| panic!("{file}: {error}"));
            let input = module.main().value(module.main().inputs()[0]).unwrap();
            let shape: Vec<usize> = input.ty.dims().unwrap().iter().map(|&extent| extent as usize).collect();
            found.extend(wrong(&case, &file, &mut module, &operands[shape.as_slice()], y));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_table_has_every_graph_every_fusion_and_rules_that_exist() {
    let table = table();
    let graphs: BTreeSet<String> = table.iter().map(|case| case.graph.to_owned()).collect();
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let files = files.filter_map(|name| Some(name.to_str()?.strip_suffix(".pb")?.rsplit_once('.')?.0.to_owned()));
    assert_eq!(graphs, files.collect());
    assert_eq!(graphs.len(), table.len(), "a graph stands there twice");
    let shown: BTreeSet<&str> = table.iter().map(|case| case.fusion).collect();
    assert_eq!(shown, FUSIONS.iter().map(|(name, _)| *name).collect());
    let canonical = strait_rewrite::canonical();
    let rules: BTreeSet<&str> = canonical.rules().map(Rule::name).collect();
    for rule in table.iter().flat_map(|case| case.fires.iter().chain(&case.never)) {
        assert!(rules.contains(rule), "there is no rule {rule}");
    }
}
