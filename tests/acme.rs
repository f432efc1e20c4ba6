//! Tests a network that uses everything special in the table of `acme-npu2`: a residual sum inside the accumulator, a
//! linear resize, and a function computed by straight lines. Every way to run it gives the same integers: the
//! definition, the lowered graph and the fused graph. `simulation.rs` tests with the other graphs of `rows` that each
//! op is within a step of its simulation.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::num::NonZeroUsize;
use strait_core::Op;
use strait_execute::{Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, reference};
use strait_kernels::{Context, Isa};
use strait_tests::integer::findings;
use strait_tests::numeric::inputs;
use strait_tests::row_graph::RowGraph;

#[test]
fn every_plan_of_a_network_for_acme_makes_the_integers_of_the_definition() {
    let mut graphs = RowGraph::of_target("acme-npu2").into_iter();
    let network = graphs.find(|graph| graph.path.ends_with("network.strait")).unwrap();
    let made = network.make("../configs/targets/acme-npu2.toml").unwrap();
    let integer = &made.integer;
    assert_eq!(findings(&integer.module, &integer.fusion), Ok(Vec::new()));
    let count = |is: &dyn Fn(&Op) -> bool| integer.module.main().nodes().filter(|(_, node)| is(&node.op)).count();
    let added = integer
        .module
        .main()
        .nodes()
        .filter(|(_, node)| node.addend().is_some());
    assert_eq!(added.count(), 1);
    assert_eq!(count(&|op| matches!(op, Op::IntegerResize(_))), 1);
    assert_eq!(count(&|op| matches!(op, Op::Interpolate(_))), 1);
    // Nothing runs on the host, and each product is requantized by its own layer.
    assert_eq!(count(&|op| matches!(op, Op::Conv(_))), 3);
    assert_eq!(
        count(&|op| matches!(op, Op::Add(_) | Op::Unary(_) | Op::Resize(_) | Op::Relu(_))),
        0
    );
    for fed in [inputs(&made.float, 0, 1.0), inputs(&made.float, 9, 50.0)] {
        let views: Vec<TensorView<'_>> = fed.iter().map(Tensor::view).collect();
        let defined = |graph| reference::run(&integer.module, graph, &views, &mut |_, _| {}).unwrap();
        let expected = defined(integer.lowered);
        assert!(defined(integer.module.main) == expected);
        for graph in [integer.lowered, integer.module.main] {
            for (isa, threads) in Isa::available().flat_map(|isa| [(isa, 1), (isa, 2)]) {
                let options = PlanOptions {
                    context: Context::with_isa(isa),
                    ..PlanOptions::default()
                };
                let plan = Plan::new(&integer.module, graph, &options).unwrap();
                let threads = Threads::new(NonZeroUsize::new(threads).unwrap());
                let found = plan.run(&mut Workspace::new(&plan, &threads), &views).unwrap();
                assert!(found == expected, "{} on {graph:?}", isa.name());
            }
        }
    }
}
