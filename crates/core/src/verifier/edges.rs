//! Invariants 1, 2, 4 and 16: edges, cycles, inputs and outputs, names.

use super::findings::{Findings, Verified, View, ensure};
use crate::graph::{Def, Node, Value};
use crate::ids::{NodeId, Symbol, Use, ValueId};
use std::collections::BTreeSet;

pub(super) fn verify<'m>(view: View<'m>, findings: &mut Findings<'m>) {
    let View { module, graph } = view;
    for (id, node) in graph.nodes() {
        findings.of_node(view, id, results(view, id, node));
    }
    for (id, value) in graph.values() {
        findings.take(definition(view, id, value));
    }
    names(view, findings);
    use_lists(view, findings);
    inputs_and_outputs(view, findings);
    if let Err(id) = graph.topological_order() {
        let name = graph.node(id).map(|n| view.place(n)).unwrap_or_default();
        let text = || format!("{name} lies on a cycle in {}", module.name(graph.name));
        findings.of_node(view, id, ensure(false, 2, text));
    }
}

/// Checks that the results of a node have the node as their producer, and that its operands are in use lists.
fn results(view: View<'_>, id: NodeId, node: &Node) -> Verified {
    for (position, &output) in node.outputs.iter().enumerate() {
        let def = view.graph.value(output).map(|v| v.def);
        view.ensure(node, def == Some(Def::Node(id, position as u8)), 1, || {
            format!("result {position} is defined elsewhere")
        })?;
    }
    let (operands, links) = (node.inputs.len(), node.links.len());
    view.ensure(node, links == operands, 1, || {
        format!("{operands} operands have {links} links")
    })
}

/// Checks that a value is the graph input or result of a node that its `def` states.
fn definition(view: View<'_>, id: ValueId, value: &Value) -> Verified {
    let graph = view.graph;
    let there = match value.def {
        Def::Node(node, position) => graph
            .node(node)
            .is_some_and(|n| n.outputs.get(usize::from(position)) == Some(&id)),
        Def::Input(position) => graph.inputs().get(position as usize) == Some(&id),
        Def::Data(_) => true,
    };
    let invariant = if matches!(value.def, Def::Input(_)) { 4 } else { 1 };
    ensure(there, invariant, || {
        format!("{} is not where its definition says", view.value(value))
    })
}

/// Checks that no two values of the graph have the same name, and that no two nodes have the same name.
fn names<'m>(view: View<'m>, findings: &mut Findings<'m>) {
    let count = view.module.names.texts().len();
    let (mut known, mut others) = (vec![false; count], BTreeSet::new());
    // Symbols of another table have no place in `known`.
    let mut is_new = |known: &mut [bool], name: Symbol| match known.get_mut(name.index()) {
        Some(known) => !std::mem::replace(known, true),
        None => others.insert(name),
    };
    for (_, value) in view.graph.values() {
        findings.take(ensure(is_new(&mut known, value.name), 16, || {
            format!("{} has the name of another value", view.value(value))
        }));
    }
    known.fill(false);
    for (id, node) in view.graph.nodes() {
        let own = ensure(is_new(&mut known, node.name), 16, || {
            format!("{} has the name of another node", view.place(node))
        });
        findings.of_node(view, id, own);
    }
}

/// Checks every use list. Each operand is visited once; if a list visits an operand again, it runs in a circle.
fn use_lists<'m>(view: View<'m>, findings: &mut Findings<'m>) {
    let graph = view.graph;
    // The position in `seen` at which the operands of each node start.
    let mut starts = vec![0; graph.node_bound()];
    let mut count = 0;
    for (id, node) in graph.nodes() {
        starts[id.index()] = count;
        count += node.inputs.len();
    }
    let mut seen = vec![false; count];
    let slot = |at: Use| starts[at.node.index()] + usize::from(at.operand);
    for (id, value) in graph.values() {
        let (mut previous, mut next) = (None, value.first_use);
        while let Some(at) = next {
            let node = graph.node(at.node);
            let operand = node.and_then(|n| n.inputs.get(usize::from(at.operand)).copied().flatten());
            let link = node.and_then(|n| n.links.get(usize::from(at.operand)));
            let fits = operand == Some(id) && link.is_some_and(|l| l.previous == previous) && !seen[slot(at)];
            if !fits {
                let text = || {
                    let (value, Use { node, operand }) = (view.value(value), at);
                    format!("the use list of {value} is broken at operand {operand} of {node}")
                };
                findings.take(ensure(false, 1, text));
                break;
            }
            seen[slot(at)] = true;
            previous = Some(at);
            next = link.and_then(|l| l.next);
        }
    }
    for (id, node) in graph.nodes() {
        for (operand, input) in node.inputs.iter().enumerate() {
            let Some(value) = *input else { continue };
            let listed = seen[starts[id.index()] + operand];
            let found = view.ensure(node, graph.value(value).is_some() && listed, 1, || {
                format!("operand {operand}, {value}, was removed or does not list this use")
            });
            findings.of_node(view, id, found);
        }
    }
}

fn inputs_and_outputs<'m>(view: View<'m>, findings: &mut Findings<'m>) {
    let graph = view.graph;
    for (position, &id) in graph.inputs().iter().enumerate() {
        let def = graph.value(id).map(|v| v.def);
        findings.take(ensure(def == Some(Def::Input(position as u32)), 4, || {
            format!("input {position}, {id}, is defined elsewhere")
        }));
    }
    let mut known = vec![false; graph.outputs().len()];
    for (id, value) in graph.values() {
        for &position in &value.output_positions {
            let position = position as usize;
            let fits = graph.outputs().get(position) == Some(&id) && !known[position];
            findings.take(ensure(fits, 4, || {
                format!("{} is not output {position}", view.value(value))
            }));
            if let Some(known) = known.get_mut(position) {
                *known = true;
            }
        }
    }
    for position in (0..known.len()).filter(|&position| !known[position]) {
        findings.take(ensure(false, 4, || {
            format!("output {position} was removed or does not know that it is one")
        }));
    }
}
