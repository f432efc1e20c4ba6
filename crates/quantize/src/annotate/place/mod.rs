//! Place: accelerator or host for each node, from the target's table. Later steps only move nodes to the host.

mod requirements;

use super::roles::{keeps_grid, narrows, reads_codes, recipe};
use std::collections::BTreeMap;
use strait_core::{Def, Graph, GraphId, Module, Node, NodeId, Placement, Reason, ReasonCode};
use strait_target::TargetSpec;
use strait_target::spec::{OpSite, Operand, Points, Recipe};

/// What the configuration asks of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// On the host, and why.
    Float(String),
    /// On the accelerator, or an error.
    Integer,
}

/// The wishes, by node.
pub type Placing = BTreeMap<NodeId, Wish>;

/// Places every node of a float graph, as the wishes and the target's table say.
pub fn place(module: &mut Module, graph: GraphId, spec: &TargetSpec, wishes: &Placing) {
    let Some(g) = module.graph(graph) else { return };
    let moved: Vec<(NodeId, Reason)> = g
        .nodes()
        .filter_map(|(id, node)| {
            let reason = match wishes.get(&id) {
                Some(Wish::Float(why)) => Reason::new(ReasonCode::Configuration, why.clone()),
                _ => refusal(module, g, spec, node)?,
            };
            Some((id, reason))
        })
        .collect();
    let g = &mut module.graphs[graph.index()];
    for (id, reason) in moved {
        g.place_on_host(id, reason);
    }
    settle(g, spec);
}

/// Moves nodes to the host that cannot be annotated or lowered, all at once, and those that lose their place with them.
/// Answers whether any of them was on the accelerator: with a refusal that moves nothing there would be no end.
pub fn refuse(graph: &mut Graph, spec: &TargetSpec, refused: Vec<(NodeId, Reason)>) -> bool {
    let on_accelerator = |id| graph.node(id).is_some_and(|n| n.place == Placement::Accelerator);
    let moves = refused.iter().any(|&(id, _)| on_accelerator(id));
    for (id, reason) in refused {
        graph.place_on_host(id, reason);
    }
    settle(graph, spec);
    moves
}

/// The nodes that the configuration wants in integers and that are on the host, with the reasons.
pub fn denied(graph: &Graph, wishes: &Placing) -> Vec<(NodeId, Reason)> {
    let wanted = wishes.iter().filter(|(_, wish)| **wish == Wish::Integer);
    let denied = wanted.filter_map(|(&id, _)| match &graph.node(id)?.place {
        Placement::Host(reason) => Some((id, (**reason).clone())),
        Placement::Accelerator => None,
    });
    denied.collect()
}

/// Why a node cannot run on the accelerator: the table's word, then what the recipe needs.
fn refusal(module: &Module, graph: &Graph, spec: &TargetSpec, node: &Node) -> Option<Reason> {
    let operands: Vec<Option<Operand<'_>>> = (node.inputs.iter())
        .map(|input| {
            let value = graph.value((*input)?)?;
            Some(Operand {
                ty: &value.ty,
                constant: matches!(value.def, Def::Data(_)),
            })
        })
        .collect();
    let result = node.outputs.first().and_then(|&y| graph.value(y))?;
    let site = OpSite {
        op: &node.op,
        operands: &operands,
        result: &result.ty,
    };
    if let Err(reason) = spec.place(&site) {
        return Some(reason);
    }
    let (_, recipe) = recipe(spec, node)?;
    requirements::check(module, graph, node, recipe).err()
}

/// Moves those nodes to the host that only pass codes on where none are wanted.
///
/// Where every result is narrowed, that is a node between host nodes: its codes would be made for it alone, and cost
/// accuracy. Where only operands are, it is one whose result anything but an integer op reads: the accumulator in front
/// of it becomes a real number anyway.
fn settle(graph: &mut Graph, spec: &TargetSpec) {
    let Ok(order) = graph.topological_order() else { return };
    let moves = |graph: &Graph, id: NodeId| {
        let found = graph.node(id).and_then(|n| recipe(spec, n));
        found.is_some_and(|(row, r)| keeps_grid(r) || (matches!(r, Recipe::ConcatRequantizeInputs) && !narrows(row)))
    };
    clip_reals_in_float(graph, spec, &order);
    match spec.types.points {
        Points::Operands => {
            for &id in order.iter().rev().filter(|&&id| moves(graph, id)).collect::<Vec<_>>() {
                let read = graph.node(id).is_some_and(|node| {
                    node.outputs
                        .iter()
                        .all(|&y| super::roles::only_codes_are_read(graph, spec, y))
                });
                if !read {
                    graph.place_on_host(
                        id,
                        Reason::new(
                            ReasonCode::FloatIsRead,
                            "its result is read in float, so it stays between float ops",
                        ),
                    );
                }
            }
        }
        Points::Results => {
            let bound = graph.node_bound();
            let (mut above, mut below) = (vec![false; bound], vec![false; bound]);
            for &id in &order {
                let Some(node) = graph.node(id) else { continue };
                let operands = node.inputs.iter().flatten();
                above[id.index()] = recipe(spec, node).is_some()
                    && (!moves(graph, id)
                        || operands
                            .filter_map(|&v| graph.producer(v))
                            .any(|(p, _)| above[p.index()]));
            }
            for &id in order.iter().rev() {
                let Some(node) = graph.node(id) else { continue };
                let mut uses = node.outputs.iter().flat_map(|&y| graph.uses(y));
                let wanted = uses.any(|at| reads_codes(graph, spec, at) && below[at.node.index()]);
                below[id.index()] = recipe(spec, node).is_some() && (!moves(graph, id) || wanted);
            }
            for id in order {
                if moves(graph, id) && !above[id.index()] && !below[id.index()] {
                    graph.place_on_host(
                        id,
                        Reason::new(
                            ReasonCode::BetweenHostNodes,
                            "it only passes on what the host computes for the host",
                        ),
                    );
                }
            }
        }
    }
}

/// Moves those activation functions to the host that clip what the host has computed for them alone: quantized first,
/// half of the codes would be spent on numbers that are clipped.
fn clip_reals_in_float(graph: &mut Graph, spec: &TargetSpec, order: &[NodeId]) {
    for &id in order {
        let Some(node) = graph.node(id) else { continue };
        if !recipe(spec, node).is_some_and(|(_, r)| r == Recipe::Clamp) {
            continue;
        }
        let operand = node.inputs.first().copied().flatten();
        let real = operand
            .and_then(|x| graph.producer(x))
            .is_some_and(|(_, p)| recipe(spec, p).is_none());
        let alone = operand.is_some_and(|x| graph.only_use(x).is_some());
        if real && alone {
            let text = "it clips real numbers, which have codes only behind it";
            graph.place_on_host(id, Reason::new(ReasonCode::ClipsReals, text));
        }
    }
}
