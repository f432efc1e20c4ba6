//! Invariants 1, 2 and 4: edges, cycles, inputs and outputs.

use super::{Verified, View, ensure};
use crate::graph::Def;
use crate::use_list::Use;

pub(super) fn verify(view: View<'_>) -> Verified {
    let View { module, graph } = view;
    for (id, node) in graph.nodes() {
        for (position, &output) in node.outputs.iter().enumerate() {
            let def = graph.value(output).map(|v| v.def);
            ensure(def == Some(Def::Node(id, position as u8)), 1, || {
                format!("{}: result {position} is defined as {def:?}", view.place(node))
            })?;
        }
        ensure(node.links.len() == node.inputs.len(), 1, || {
            format!(
                "{}: {} operands have {} links",
                view.place(node),
                node.inputs.len(),
                node.links.len()
            )
        })?;
    }
    for (id, value) in graph.values() {
        let there = match value.def {
            Def::Node(node, position) => graph
                .node(node)
                .is_some_and(|n| n.outputs.get(usize::from(position)) == Some(&id)),
            Def::Input(position) => graph.inputs().get(position as usize) == Some(&id),
            Def::Data(_) => true,
        };
        let invariant = if matches!(value.def, Def::Input(_)) { 4 } else { 1 };
        ensure(there, invariant, || {
            format!("{} is not where {:?} says", view.value(value), value.def)
        })?;
    }
    use_lists(view)?;
    inputs_and_outputs(view)?;
    graph.topological_order().map(drop).or_else(|id| {
        let name = graph.node(id).map(|n| view.place(n)).unwrap_or_default();
        ensure(false, 2, || {
            format!("{name} lies on a cycle in {}", module.name(graph.name))
        })
    })
}

/// Every list is walked once. A list that runs in a circle comes to an operand that it has seen.
fn use_lists(view: View<'_>) -> Verified {
    let graph = view.graph;
    // Where the operands of each node start in `seen`.
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
            ensure(fits, 1, || {
                format!("the use list of {} is broken at {at:?}", view.value(value))
            })?;
            seen[slot(at)] = true;
            previous = Some(at);
            next = link.and_then(|l| l.next);
        }
    }
    for (id, node) in graph.nodes() {
        for (operand, input) in node.inputs.iter().enumerate() {
            let Some(value) = *input else { continue };
            let listed = seen[starts[id.index()] + operand];
            ensure(graph.value(value).is_some() && listed, 1, || {
                format!(
                    "{}: operand {operand}, {value:?}, was removed or does not list this use",
                    view.place(node)
                )
            })?;
        }
    }
    Ok(())
}

fn inputs_and_outputs(view: View<'_>) -> Verified {
    let graph = view.graph;
    for (position, &id) in graph.inputs().iter().enumerate() {
        let def = graph.value(id).map(|v| v.def);
        ensure(def == Some(Def::Input(position as u32)), 4, || {
            format!("input {position}, {id:?}, is defined as {def:?}")
        })?;
    }
    let mut known = vec![false; graph.outputs().len()];
    for (id, value) in graph.values() {
        for &position in &value.output_positions {
            let position = position as usize;
            let fits = graph.outputs().get(position) == Some(&id) && !known[position];
            ensure(fits, 4, || format!("{} is not output {position}", view.value(value)))?;
            known[position] = true;
        }
    }
    let unknown = known.iter().position(|known| !known);
    ensure(unknown.is_none(), 4, || {
        format!("output {unknown:?} was removed or does not know that it is one")
    })
}
