//! Explains why an operator is not read, and suggests options with which a model that has such operators can still be
//! read.

use std::collections::BTreeSet;

use strait_core::{Reason, ReasonCode};
use strait_import::{NodeFault, option};

use crate::graph::Graph;
use crate::switches::Port;

/// Operators that preprocess audio. The network itself begins after them.
const AUDIO: [&str; 3] = ["AudioSpectrogram", "DecodeWav", "Mfcc"];

/// Operators for conditions and loops of TensorFlow 1.
const CONTROL: [&str; 13] = [
    "Enter",
    "Exit",
    "LoopCond",
    "Merge",
    "NextIteration",
    "RefEnter",
    "RefExit",
    "RefMerge",
    "RefNextIteration",
    "RefSwitch",
    "Switch",
    "ControlTrigger",
    "RefSelect",
];

/// The message for conditions and loops of TensorFlow 1.
const DECIDED: &str = "branches and loops of TensorFlow 1 are read only where a constant decides on them";

/// Operators for conditions, loops and function calls of TensorFlow 2.
const FUNCTIONS: [&str; 7] = [
    "Case",
    "If",
    "PartitionedCall",
    "StatefulPartitionedCall",
    "StatelessIf",
    "StatelessWhile",
    "While",
];

/// The reason that is reported for a node whose operator is not read.
pub(super) fn why(graph: &Graph, node: usize) -> &'static str {
    let op = graph.node(node).op.as_str();
    match op {
        _ if AUDIO.contains(&op) => "features of audio are not computed here",
        _ if CONTROL.contains(&op) => DECIDED,
        _ if FUNCTIONS.contains(&op) || graph.is_function(op) => {
            "calls of functions are not read; the tool that freezes a graph puts their nodes in place of them"
        }
        "Const" => "a constant has one result",
        "Placeholder" => "an input has one result",
        _ => "the operator is not known",
    }
}

/// Returns the error for graphs with loops of TensorFlow 1, which are cycles in the graph. The error names the first
/// node of the first loop, and options with which the loops are left out. Returns `None` if the graph has no loop.
pub(crate) fn loops(graph: &Graph) -> Option<NodeFault> {
    let of = |kind: [&'static str; 2]| {
        let nodes = 0..graph.def.node.len();
        nodes.filter(move |&node| kind.contains(&graph.node(node).op.as_str()))
    };
    let first = graph.node(of(["Enter", "RefEnter"]).next()?);
    let operands = of(["Enter", "RefEnter"]).flat_map(|node| graph.operands(node).iter().copied());
    let before: BTreeSet<Port> = operands.filter(|port| !is_constant(graph, port)).collect();
    let exits = of(["Exit", "RefExit"]).map(|node| (node, 0));
    let behind: BTreeSet<Port> = exits.filter(|&port| graph.users(port).next().is_some()).collect();
    Some(NodeFault {
        node: first.name.clone(),
        operator: first.op.clone(),
        reason: Reason::new(
            ReasonCode::Unsupported,
            format!("{DECIDED}{}", around(graph, &before, &behind)),
        ),
    })
}

fn is_constant(graph: &Graph, &(producer, _): &Port) -> bool {
    graph.node(producer).op == "Const"
}

/// Returns, as text for a message, the options with which the graph ends at the tensors `before` or begins at the
/// tensors `behind`.
fn around(graph: &Graph, before: &BTreeSet<Port>, behind: &BTreeSet<Port>) -> String {
    let mut ways = Vec::new();
    for (ports, key, way) in [
        (before, "outputs", "ending the graph in front of it"),
        (behind, "inputs", "beginning the graph behind it"),
    ] {
        if !ports.is_empty() {
            let option = option(key, ports.iter().map(|&port| graph.tensor(port)));
            ways.push(format!("{way}, with {option}"));
        }
    }
    match ways.is_empty() {
        true => String::new(),
        false => format!("; it can be computed elsewhere by {}", ways.join(", or ")),
    }
}
