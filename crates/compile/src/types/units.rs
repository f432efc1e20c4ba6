//! Divides the activations of an annotated graph into units.
//!
//! A rule gives a type to the activations on which a layer computes, so all operands of a layer have the same type. If a tensor
//! had readers of two types, it would be converted for one of them. A unit is therefore the smallest set of tensors and layers
//! with these properties:
//! - All layers that read one of the tensors belong to the unit, and all tensors that these layers read.
//! - If a layer only moves codes, or is a clamp, which becomes part of the layer before it, its results belong to the unit,
//!   too.
//! - Layers that a rule cannot tell apart, because they have a name in common, belong to the same unit.
//!
//! Each tensor belongs to one unit. Where a layer reads one unit and computes a tensor of another one, its own
//! requantization converts.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Graph, Kind, Module, Node, NodeId, Op, Placement, Symbol, ValueId};
use strait_target::TargetSpec;

use crate::rules::moves_codes;

/// Tensors that get the same type, and the layers that compute on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// The layers, in the order of the graph.
    pub nodes: Vec<NodeId>,
    /// The tensors.
    pub values: BTreeSet<ValueId>,
    /// Those of the tensors that no layer on the accelerator reads, such as outputs of the graph. A rule has to name them.
    pub unread: Vec<ValueId>,
}

/// The units of the layers on the accelerator, in the order of the graph.
pub fn units(annotated: &Module, spec: &TargetSpec) -> Vec<Unit> {
    let graph = annotated.main();
    let rounded: BTreeSet<ValueId> = rounded(graph);
    let mut sets = Sets::default();
    let mut named: BTreeMap<Symbol, ValueId> = BTreeMap::new();
    let order = graph.topological_order().unwrap_or_default();
    for &id in &order {
        let Some(node) = graph.node(id).filter(|node| on_accelerator(node)) else {
            continue;
        };
        let mut joined: Vec<ValueId> = operands(node).filter(|value| rounded.contains(value)).collect();
        let Some(&first) = joined.first() else { continue };
        if passes_on(spec, node) {
            joined.extend(node.outputs.iter().filter(|value| rounded.contains(value)));
        }
        joined.extend(node.sources.iter().filter_map(|source| named.get(source)));
        joined.iter().for_each(|&value| sets.join(first, value));
        node.sources.iter().for_each(|&source| {
            named.entry(source).or_insert(first);
        });
    }
    let mut found: BTreeMap<ValueId, Unit> = BTreeMap::new();
    for &value in &rounded {
        let unit = found.entry(sets.root(value)).or_default();
        unit.values.insert(value);
        let is_read = |id: NodeId| graph.node(id).is_some_and(on_accelerator);
        if !graph.uses(value).any(|at| is_read(at.node)) {
            unit.unread.push(value);
        }
    }
    for &id in &order {
        let node = graph.node(id).filter(|node| on_accelerator(node));
        let read = node.and_then(|node| operands(node).find(|value| rounded.contains(value)));
        if let Some(unit) = read.and_then(|value| found.get_mut(&sets.root(value))) {
            unit.nodes.push(id);
        }
    }
    let place: BTreeMap<NodeId, usize> = order.iter().enumerate().map(|(at, &id)| (id, at)).collect();
    let mut found: Vec<Unit> = found.into_values().collect();
    let made = |unit: &Unit| {
        unit.values
            .iter()
            .filter_map(|&value| graph.producer(value))
            .map(|(id, _)| id)
            .min()
    };
    found.sort_by_key(|unit| {
        let first = unit.nodes.first().copied().or_else(|| made(unit));
        (
            first.and_then(|id| place.get(&id).copied()),
            unit.values.first().copied(),
        )
    });
    found
}

/// The units for layers that run in float. Rounding disappears only if both the layer that computes a tensor and those that read
/// it run in float, so the layers that compute the tensors of a unit belong to it.
pub fn float_units(annotated: &Module, spec: &TargetSpec) -> Vec<Unit> {
    let graph = annotated.main();
    let place: BTreeMap<NodeId, usize> = (graph.topological_order().unwrap_or_default().into_iter())
        .enumerate()
        .map(|(at, id)| (id, at))
        .collect();
    let mut all = units(annotated, spec);
    for unit in &mut all {
        let makers = unit.values.iter().filter_map(|&value| graph.producer(value));
        let makers = makers.filter(|(_, node)| on_accelerator(node)).map(|(id, _)| id);
        let nodes: BTreeSet<NodeId> = makers.chain(unit.nodes.iter().copied()).collect();
        unit.nodes = nodes.into_iter().collect();
        unit.nodes.sort_by_key(|id| place.get(id));
    }
    all.retain(|unit| !unit.nodes.is_empty());
    all
}

/// The number of multiply-adds of a node: those of convolutions and matrix products, and 0 for all other ops.
pub fn multiply_adds(module: &Module, id: NodeId) -> u64 {
    let weighs = |node: &&Node| {
        matches!(
            node.op,
            Op::Conv(_) | Op::ConvTranspose(_) | Op::Gemm(_) | Op::MatMul(_)
        )
    };
    match module.main().node(id).filter(weighs) {
        Some(_) => node_operations(module, id),
        None => 0,
    }
}

/// The operations of a node: multiply-adds, or the elements that it visits.
pub fn node_operations(module: &Module, id: NodeId) -> u64 {
    let graph = module.main();
    let Some(node) = graph.node(id) else { return 0 };
    let ty = |value: ValueId| graph.value(value).map(|value| &value.ty);
    let operands: Vec<_> = node.inputs.iter().map(|value| value.and_then(ty)).collect();
    let results: Vec<_> = node.outputs.iter().filter_map(|&value| ty(value)).collect();
    strait_execute::operations(&node.op, &operands, &results)
}

fn on_accelerator(node: &Node) -> bool {
    node.place == Placement::Accelerator
}

fn operands(node: &Node) -> impl Iterator<Item = ValueId> + '_ {
    node.inputs.iter().copied().flatten()
}

/// The values that are rounded somewhere, apart from constants.
fn rounded(graph: &Graph) -> BTreeSet<ValueId> {
    let at = graph
        .quant
        .iter()
        .filter_map(|(_, config)| graph.value_at(config.node, config.port));
    at.filter(|&value| graph.data_of(value).is_none()).collect()
}

/// True if the results of a node have the type of its operands.
fn passes_on(spec: &TargetSpec, node: &Node) -> bool {
    let is_clamp = matches!(node.op, Op::Relu(_) | Op::Clip(_));
    is_clamp || node.op.term().kind() == Kind::Rearranges || moves_codes(spec, node)
}

/// Disjoint sets of values.
#[derive(Default)]
struct Sets(BTreeMap<ValueId, ValueId>);

impl Sets {
    fn root(&self, mut value: ValueId) -> ValueId {
        while let Some(&up) = self.0.get(&value) {
            value = up;
        }
        value
    }

    fn join(&mut self, one: ValueId, other: ValueId) {
        let [one, other] = [self.root(one), self.root(other)];
        if one != other {
            self.0.insert(one.max(other), one.min(other));
        }
    }
}
