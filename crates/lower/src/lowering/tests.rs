//! Tests modules in which an earlier step has not done what lowering relies on. Lowering must stop with a defect, and
//! not move the node to the host.

use super::*;
use strait_core::op::{Call, Relu};
use strait_core::text::parse;
use strait_core::{Granularity, Move, Origin, Policy, Scheme};
use strait_requantize::Rounding;
use strait_target::spec::{Options, Table};

fn spec() -> TargetSpec {
    let text = include_str!("../../../../configs/targets/acme-npu2.toml");
    let table = Table::parse("target.toml", text).expect("a table");
    table.spec(&Options::new()).expect("a sound table")
}

/// A module with one node. Its operand has a grid. Its result has one if `has_grid` is true.
fn module(result: &str, node: &str, has_grid: bool) -> Module {
    let text = format!(
        "strait 1 annotated\n\
         graph @main(%x: f32[1,4]) {{\n\
         \x20 %y: {result} = {node}\n\
         \x20 return %y\n}}\n\
         data @w: f32[2,4] = splat 1.0\n"
    );
    let mut module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let policy = Policy::linear(false, Granularity::Tensor);
    let scheme = Scheme::integers(policy, Elem::I8, [-128, 127], Rounding::HalfEven).expect("a scheme");
    let table = &mut module.main_mut().quant;
    for port in [Port::Operand(0), Port::Result(0)]
        .into_iter()
        .take(1 + usize::from(has_grid))
    {
        let config = table.add(NodeId::new(0), port, scheme);
        let grid = strait_core::Grid::new(QuantParams::tensor(0.1, 0), Origin::Observed);
        table.transition(config, Move::Activate(grid)).expect("a grid");
    }
    module
}

const RELU: [&str; 2] = ["f32[1,4]", "relu(%x)"];

/// The defect that lowering ends with.
fn defect(module: &Module) -> String {
    match lower(module, &spec()) {
        Err(LowerError::Ours(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_broken_promise_stops_and_names_the_node() {
    let [result, node] = RELU;
    assert!(lower(&module(result, node, true), &spec()).is_ok());
    let gemm = "gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
    for (broken, told) in [
        (module(result, node, false), "lowering y: its result has no grid"),
        // The weights have no config.
        (module("f32[1,2]", gemm, true), "lowering y: its weights have no grid"),
        // The node should have been placed on the host.
        (module(result, "div(%x, %x)", true), "lowering y: div has no recipe"),
    ] {
        assert_eq!(defect(&broken), told);
    }
}

#[test]
fn what_stands_against_a_node_is_a_reason_beside_it() {
    let clip = module("f32[1,4]", "clip(%x) {min=3.0, max=1.0}", true);
    match lower(&clip, &spec()) {
        Err(LowerError::Nodes(nodes)) => assert_eq!(nodes[0].reason.code, ReasonCode::Clip),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_recipe_asks_for_and_does_not_get_is_a_defect() {
    let [result, node] = RELU;
    let (source, spec) = (module(result, node, true), spec());
    let graph = source.main();
    let (_, relu) = graph.nodes().next().expect("a node");
    let (x, y) = (graph.inputs()[0], graph.outputs()[0]);
    let mut walk = Lowering::new(&source, &spec);
    let of = |failure: Failure| match failure {
        Failure::Defect(text) => text,
        other => panic!("the node goes to the host: {other}"),
    };
    assert_eq!(of(walk.real(y).unwrap_err()), "y was never made");
    assert_eq!(of(walk.real(ValueId::new(99)).unwrap_err()), "a value is missing");
    assert_eq!(
        of(walk.made(x).unwrap_err()),
        "what a primitive made has no single grid"
    );
    let absent = walk.emit(relu, Relu {}, &[], None, "relu").unwrap_err();
    assert!(of(absent).starts_with("the primitive relu: "));
    // The graph that is being built has no output yet.
    let nothing = walk.emit(relu, Call { graph: 0 }, &[], None, "call").unwrap_err();
    assert_eq!(of(nothing), "the primitive call has no result");
    let short = integers(&[3], &[1, 2], Elem::I8).map_err(Failure::from).unwrap_err();
    assert!(of(short).starts_with("a tensor: "));
}

#[test]
fn a_site_without_its_operands_is_a_defect() {
    let [result, node] = RELU;
    let (source, spec) = (module(result, node, true), spec());
    let (id, relu) = source.main().nodes().next().expect("a node");
    let (_, row) = spec.op_row(relu.op.term()).expect("a row");
    let site = recipes::NodeToLower { id, node: relu, row };
    assert!(matches!(site.input(1), Err(Failure::Defect(_))));
    let mut alone = relu.clone();
    alone.outputs.clear();
    let site = recipes::NodeToLower { id, node: &alone, row };
    assert!(matches!(site.output(), Err(Failure::Defect(_))));
}
