//! Tests that patches keep a graph valid, and that the time to apply a patch depends only on the size of the patch.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like tests")]

use crate::support;

use proptest::prelude::*;
use std::time::Instant;
use strait_core::op::{Identity, Relu, Transpose};
use strait_core::text::{PrintOptions, parse, print};
use strait_core::verifier::verify;
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Patch, PatchError, Source, ValueId};

const MAIN: usize = 0;

/// A patch at a random place. It replaces a node by an equal one followed by an identity, removes an identity, replaces
/// a value by another one of the same type (and perhaps removes a node), or only removes a node. Not every such patch
/// fits the graph.
fn random_patch(module: &Module, choices: &mut support::Choices<'_>) -> Patch {
    let graph = &module.graphs[MAIN];
    let nodes: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
    let values: Vec<ValueId> = graph.values().map(|(id, _)| id).collect();
    let Some(&at) = nodes.get(choices.below(nodes.len().max(1))) else {
        return Patch::default();
    };
    let node = graph.node(at).unwrap();
    let old = |id: ValueId| Some(Source::Old(id));
    match choices.below(4) {
        0 if node.outputs.len() == 1 && !matches!(node.op, Op::Foreign(_)) => {
            let inputs: Vec<_> = node.inputs.iter().map(|i| i.and_then(old)).collect();
            let mut again = NewNode::new(node.op.clone(), &inputs, &[at]);
            again.fused = node.fused.as_deref().cloned();
            let behind = NewNode::new(Identity {}, &[Some(Source::New(0, 0))], &[at]);
            Patch {
                add: vec![again, behind],
                replace: vec![(node.outputs[0], Source::New(1, 0))],
                remove: vec![at],
                ..Patch::default()
            }
        }
        1 if matches!(node.op, Op::Identity(_)) => {
            let source = node.inputs[0].and_then(old).unwrap();
            Patch {
                replace: vec![(node.outputs[0], source)],
                remove: vec![at],
                ..Patch::default()
            }
        }
        2 => {
            let (from, to) = (choices.pick(&values), choices.pick(&values));
            let remove = if choices.flip() { vec![at] } else { Vec::new() };
            Patch {
                replace: vec![(from, Source::Old(to))],
                remove,
                ..Patch::default()
            }
        }
        _ => Patch {
            remove: vec![at],
            ..Patch::default()
        },
    }
}

proptest! {
    #[test]
    fn a_graph_is_whole_behind_every_patch_and_unchanged_behind_a_refused_one(
        choices in prop::collection::vec(any::<u32>(), 0..200),
        patches in prop::collection::vec(any::<u32>(), 0..100),
    ) {
        let mut module = support::module(&choices);
        let mut patches = support::Choices::new(&patches);
        while !patches.is_empty() {
            let before = print(&module, &PrintOptions::whole());
            let patch = random_patch(&module, &mut patches);
            match module.apply(GraphId::new(MAIN), patch) {
                Ok(_) => {
                    // A patch may replace a value by another value that is computed from it. A rule that makes such a
                    // patch has a bug, and the verifier finds the cycle.
                    match verify(&module) {
                        Ok(()) => {}
                        Err(found) => {
                            prop_assert!(found.shown.iter().all(|v| v.invariant == 2), "{}", found);
                            break;
                        }
                    }
                }
                Err(_) => prop_assert_eq!(print(&module, &PrintOptions::whole()), before),
            }
        }
    }
}

/// x → relu → relu → … → relu.
fn chain(length: usize) -> Module {
    let mut text = String::from("strait 1 float graph @g(%v0: f32[1]) {\n");
    for n in 1..=length {
        text.push_str(&format!("%v{n}: f32[1] = relu(%v{})\n", n - 1));
    }
    parse(&format!("{text} return %v{length} }}")).unwrap()
}

/// Replaces every node of a chain by an equal one, with one patch for each node. Returns the time in seconds.
fn rewrite_all(module: &mut Module) -> f64 {
    let nodes: Vec<NodeId> = module.main().nodes().map(|(id, _)| id).collect();
    let start = Instant::now();
    for at in nodes {
        let node = module.main().node(at).unwrap();
        let (input, output) = (node.inputs[0].map(Source::Old), node.outputs[0]);
        let patch = Patch {
            add: vec![NewNode::new(Relu {}, &[input], &[at])],
            replace: vec![(output, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        };
        module.apply(GraphId::new(MAIN), patch).unwrap();
    }
    start.elapsed().as_secs_f64()
}

#[test]
fn a_patch_costs_its_own_size_and_not_the_graphs() {
    let (mut small, mut large) = (chain(5_000), chain(100_000));
    let (short, long) = (rewrite_all(&mut small), rewrite_all(&mut large));
    assert_eq!(verify(&large), Ok(()));
    // Twenty times as many patches take about twenty times as long. If a patch walked through the whole graph, they
    // would take 400 times as long.
    assert!(
        long < 120.0 * short.max(0.001),
        "{short} s for 5 000, {long} s for 100 000"
    );
}

#[test]
fn what_is_replaced_hands_on_its_name_and_what_is_folded_its_source_names() {
    let text = "strait 1 float graph @g(%x: f32[2]) { %a: f32[2] = relu(%x) name=\"/a\" %b: f32[2] = identity(%a) name=\"/b\" return %b }";
    let mut module = parse(text).unwrap();
    let ids: Vec<NodeId> = module.main().nodes().map(|(id, _)| id).collect();
    let graph = module.main();
    let (input, output) = (graph.inputs()[0], graph.outputs()[0]);
    let patch = Patch {
        add: vec![NewNode::new(Relu {}, &[Some(Source::Old(input))], &ids)],
        replace: vec![(output, Source::New(0, 0))],
        remove: vec![ids[1], ids[0]],
        ..Patch::default()
    };
    let applied = module.apply(GraphId::new(MAIN), patch).unwrap();
    assert_eq!((applied.added.len(), applied.touched), (1, applied.added.clone()));
    let expect = "strait 1 float\ngraph @g(%x: f32[2]) {\n  %b: f32[2] = relu(%x) name=\"/a\" sources=[\"/a\",\"/b\"]\n  return %b\n}\n";
    assert_eq!(print(&module, &PrintOptions::default()), expect);
}

#[test]
fn what_computes_keeps_the_name_of_its_node_and_what_is_moved_that_of_its_value() {
    let text = "strait 1 float graph @g(%x: f32[2,3]) {
        %a: f32[2,3] = relu(%x) name=\"/a\"
        %b: f32[1,1] = reduce(%a) {reduction=max, axes=[0,1], keep_dims=1} name=\"/b\"
        return %b }";
    let mut module = parse(text).unwrap();
    let ids: Vec<NodeId> = module.main().nodes().map(|(id, _)| id).collect();
    let (input, a, b) = (ValueId::new(0), ValueId::new(1), ValueId::new(2));
    let permutation = [1, 0].as_slice().into();
    let max = module.main().node(ids[1]).unwrap().op.clone();
    let patch = Patch {
        add: vec![
            NewNode::new(Transpose { permutation }, &[Some(Source::Old(input))], &ids[..1]),
            NewNode::new(Relu {}, &[Some(Source::New(0, 0))], &ids[..1]),
            NewNode::new(max, &[Some(Source::New(1, 0))], &ids[1..]),
        ],
        replace: vec![(b, Source::New(2, 0))],
        rename: vec![(a, Source::New(1, 0))],
        remove: vec![ids[1], ids[0]],
        ..Patch::default()
    };
    module.apply(GraphId::new(MAIN), patch).unwrap();
    let expect = "strait 1 float\ngraph @g(%x: f32[2,3]) {\n  \
                  %\"/a:value\": f32[3,2] = transpose(%x) {permutation=[1,0]} name=\"/a:transpose\" sources=[\"/a\"]\n  \
                  %a: f32[3,2] = relu(%\"/a:value\") name=\"/a\"\n  \
                  %b: f32[1,1] = reduce(%a) {reduction=max, axes=[0,1], keep_dims=1} name=\"/b\"\n  return %b\n}\n";
    assert_eq!(print(&module, &PrintOptions::default()), expect);
}

#[test]
fn a_patch_that_does_not_fit_says_why() {
    let text = "strait 1 float graph @g(%x: f32[2]) { %a: f32[2] = relu(%x) %b: f32[1] = reduce(%a) {reduction=max, axes=[0], keep_dims=1} %c: f32[2] = relu(%x) return %b }";
    let mut module = parse(text).unwrap();
    let ids: Vec<NodeId> = module.main().nodes().map(|(id, _)| id).collect();
    let (a, b, c) = (ValueId::new(1), ValueId::new(2), ValueId::new(3));
    let gone = ValueId::new(77);
    let relu = |source, origins: &[NodeId]| vec![NewNode::new(Relu {}, &[source], origins)];
    let cases: Vec<(Patch, &str)> = vec![
        (
            Patch {
                remove: vec![ids[0]],
                ..Patch::default()
            },
            "node0 would be removed but is still used",
        ),
        (
            Patch {
                remove: vec![NodeId::new(9)],
                ..Patch::default()
            },
            "the patch refers to node9, which does not exist",
        ),
        (
            Patch {
                replace: vec![(gone, Source::Old(a))],
                ..Patch::default()
            },
            "the patch refers to value77, which does not exist",
        ),
        (
            Patch {
                replace: vec![(a, Source::New(0, 0))],
                ..Patch::default()
            },
            "the patch refers to result 0 of new node 0, which does not exist",
        ),
        (
            Patch {
                add: relu(Some(Source::Old(a)), &[]),
                ..Patch::default()
            },
            "new node 0 names no origin",
        ),
        (
            Patch {
                add: relu(None, &ids),
                ..Patch::default()
            },
            "new node 0 (relu): relu: operand 0 is absent [arity]",
        ),
        (
            // The other ReLU would be the replacement, but the patch removes it, too.
            Patch {
                replace: vec![(a, Source::Old(c))],
                remove: vec![ids[2]],
                ..Patch::default()
            },
            "node2 would be removed but is still used",
        ),
    ];
    for (patch, expect) in cases {
        assert_eq!(
            module
                .apply(GraphId::new(MAIN), patch)
                .map(drop)
                .unwrap_err()
                .to_string(),
            expect
        );
    }
    let other = Patch {
        replace: vec![(a, Source::Old(b))],
        ..Patch::default()
    };
    assert!(matches!(
        module.apply(GraphId::new(MAIN), other),
        Err(PatchError::Replaced { .. })
    ));
    let nowhere = module.apply(GraphId::new(5), Patch::default());
    assert!(matches!(nowhere, Err(PatchError::Missing(_))));
    assert_eq!(verify(&module), Ok(()));
}
