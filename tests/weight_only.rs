//! Tests weight-only quantization: products of real numbers whose weights have codes. The codes are the nearest ones
//! for the smallest possible scale, the artifact stores them, and integer graph, fused graph and simulation compute the
//! same bits.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::parse;
use strait_core::{Graph, Module, Node, NodeId, Op, Placement, Port, QuantParams};
use strait_execute::{Tensor, TensorView, reference};
use strait_kernels::Isa;
use strait_lower::{FusionPolicy, Parameters, Signs, simulate};
use strait_target::spec::{Activation, Integer as Type};
use strait_tests::integer::{InMemory, Integer, integer_of};
use strait_tests::numeric::{inputs, run};
use strait_tests::passes::target;
use strait_tests::random_graph::random_graph;

/// A table whose accelerator does not have such pairs, so that the host computes them.
const ON_HOST: &str = "filetests/tables/weights-on-host.toml";

/// The same, with a scale for each two inputs if there are whole blocks.
const BY_BLOCK: &str = "filetests/tables/weights-by-block.toml";

const CASES: [(&str, Type, [f64; 2]); 7] = [
    ("generic-int8", Type::Int8, [-127.0, 127.0]),
    ("generic-int8", Type::Int4, [-7.0, 7.0]),
    ("ascend", Type::Int8, [-128.0, 127.0]),
    ("ascend", Type::Int4, [-8.0, 7.0]),
    (ON_HOST, Type::Int8, [-127.0, 127.0]),
    (ON_HOST, Type::Int4, [-7.0, 7.0]),
    (BY_BLOCK, Type::Int4, [-8.0, 7.0]),
];

fn compiled(name: &str, weight: Type, seed: u64) -> (Integer, Vec<Tensor>) {
    let float = parse(&random_graph(seed, 12)).unwrap();
    let samples = InMemory((0..4).map(|i| inputs(&float, 1000 * seed + i, 1.0)).collect());
    let types = (Some(Activation::Float32), Some(weight));
    let integer = integer_of(types, FusionPolicy::Exact, &float, name, &samples);
    let integer = integer.unwrap_or_else(|error| panic!("seed {seed} for {name}: {error}"));
    (integer, samples.0.into_iter().next().unwrap())
}

/// The products, and where they run: on the accelerator if it has a row for them and they are within its limits. For 4
/// bits, Ascend has a row for some of them.
fn products<'a>(graph: &'a Graph, target: &str, weight: Type) -> impl Iterator<Item = (NodeId, &'a Node)> {
    let on_host = [ON_HOST, BY_BLOCK].contains(&target);
    let has_limits = (target, weight) == ("ascend", Type::Int4);
    let nodes = graph
        .nodes()
        .filter(|(_, node)| matches!(node.op, Op::Conv(_) | Op::Gemm(_)));
    nodes.inspect(move |(_, node)| match &node.place {
        Placement::Host(reason) if has_limits => assert!(reason.text.ends_with("with weights of int4"), "{reason}"),
        place => assert_eq!(*place != Placement::Accelerator, on_host),
    })
}

/// The elements that share a scale.
struct Part {
    scale: usize,
    elements: Vec<usize>,
}

/// The elements of each scale: all, those of a row, or two inputs of a row at one position of the window, in the order
/// in which they are stored.
fn parts(grid: &QuantParams, shape: &[usize]) -> Vec<Part> {
    let rows = grid.scale.channels().map_or(1, |_| shape[0]);
    let each = shape.iter().product::<usize>() / rows;
    let of_row = |row: usize| (row * each..(row + 1) * each).collect::<Vec<usize>>();
    let Some(block) = grid.block else {
        let part = |scale| Part {
            scale,
            elements: of_row(scale),
        };
        return (0..rows).map(part).collect();
    };
    assert_eq!((block.get(), grid.axis), (2, Some(1)));
    let window: usize = shape[2..].iter().product();
    let part = |scale: usize| {
        let (row, rest) = (scale / (each / 2), scale % (each / 2));
        let first = row * each + rest / window * 2 * window + rest % window;
        Part {
            scale,
            elements: vec![first, first + window],
        }
    };
    (0..rows * each / 2).map(part).collect()
}

#[test]
fn codes_are_the_nearest_of_the_finest_grid_that_holds_the_weights() {
    let (mut seen, mut blocks) = (0, 0);
    for (name, weight, [first, last]) in CASES {
        for seed in 0..8 {
            let (integer, _) = compiled(name, weight, seed);
            let (module, graph) = (&integer.annotated, integer.annotated.main());
            for (id, node) in products(graph, name, weight) {
                let weights = module.constant(graph, node.inputs[1].unwrap()).unwrap();
                let reals = weights.to_f32().unwrap();
                let codes = graph.quant.baked(id, Port::Operand(1)).unwrap();
                let codes = module.data(codes).unwrap().to_i64().unwrap();
                let grid = graph.quant.params_of(id, Port::Operand(1)).unwrap();
                let shape: Vec<usize> = weights.shape().iter().map(|&extent| extent as usize).collect();
                blocks += usize::from(grid.block.is_some());
                for part in parts(&grid, &shape) {
                    let scale = f64::from(*grid.scale.get(part.scale).unwrap());
                    let asked =
                        |&index: &usize| f64::from(reals[index]) / if reals[index] < 0.0 { first } else { last };
                    let finest = part.elements.iter().map(asked).fold(0.0, f64::max);
                    assert!(
                        finest == 0.0 || (scale / finest - 1.0).abs() < 1e-6,
                        "{scale} for {finest}"
                    );
                    for &index in &part.elements {
                        let (real, code) = (f64::from(reals[index]), codes[index] as f64);
                        assert!((first..=last).contains(&code) && (real - scale * code).abs() <= 0.500_01 * scale);
                    }
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 60 && blocks > 6, "{seen} products, {blocks} by block");
}

/// The results of a graph as planned; the interpreter's must be the same.
fn results(module: &Module, graph: strait_core::GraphId, fed: &[Tensor]) -> Vec<Vec<u8>> {
    let views: Vec<TensorView<'_>> = fed.iter().map(Tensor::view).collect();
    let bytes = |tensors: &[Tensor]| tensors.iter().map(|t| t.view().bytes().to_vec()).collect::<Vec<_>>();
    let planned = bytes(&run(module, graph, fed, Isa::detect(), 1));
    let plain = bytes(&reference::run(module, graph, &views, &mut |_, _| {}).unwrap());
    assert_eq!(planned, plain);
    planned
}

#[test]
fn integer_graph_and_simulation_compute_the_same_bits() {
    let mut seen = 0;
    for (name, weight, _) in CASES {
        let target = target(name).unwrap();
        for seed in 0..8 {
            let (integer, fed) = compiled(name, weight, seed);
            seen += products(integer.annotated.main(), name, weight).count();
            let lowered = results(&integer.module, integer.lowered, &fed);
            assert_eq!(
                results(&integer.module, integer.module.main, &fed),
                lowered,
                "{name} {seed}"
            );
            for form in [Parameters::Codes(Signs::Own), Parameters::Reals] {
                let simulated = simulate(&integer.annotated, Some(target.spec()), form).unwrap();
                assert_eq!(
                    results(&simulated, simulated.main, &fed),
                    lowered,
                    "{name} {seed} {form:?}"
                );
            }
        }
    }
    assert!(seen > 60, "{seen} products");
}

#[test]
fn the_artifact_holds_codes_and_no_weights_beside_them() {
    for (name, weight, _) in CASES {
        for seed in 0..8 {
            let (integer, _) = compiled(name, weight, seed);
            let graph = integer.module.main();
            for (_, node) in products(graph, name, weight) {
                let (_, made) = graph.producer(node.inputs[1].unwrap()).unwrap();
                let codes = integer.module.constant(graph, made.inputs[0].unwrap()).unwrap();
                assert!(matches!(made.op, Op::Dequantize(_)));
                assert_eq!(
                    codes.elem().int_type().map(Type::from),
                    Some(weight),
                    "{name}, seed {seed}"
                );
            }
        }
    }
}
