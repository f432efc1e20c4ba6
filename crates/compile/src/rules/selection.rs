//! The rules that apply to each layer, operand and tensor.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Graph, Module, Node, NodeId, Op, Symbol, ValueId};
use strait_target::{TargetSpec, spec::Recipe};

use super::Quantize;

/// For each layer, operand and tensor, the indices of the rules that apply to it, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The rules for layers.
    pub nodes: BTreeMap<NodeId, Vec<usize>>,
    /// The rules for operands, by node and position. These operands are activations.
    pub operands: BTreeMap<(NodeId, usize), Vec<usize>>,
    /// The rules for values. Results of the chosen nodes are included.
    pub values: BTreeMap<ValueId, Vec<usize>>,
}

impl Selection {
    /// The part of the selection with the rules that apply to one target.
    #[must_use]
    pub fn of_target(&self, quantize: &Quantize, target: &str) -> Selection {
        let is_for = |index: usize| quantize.rule.get(index).is_some_and(|rule| rule.is_for(target));
        Selection {
            nodes: those(&self.nodes, is_for),
            operands: those(&self.operands, is_for),
            values: those(&self.values, is_for),
        }
    }

    /// The layers, operands and values that one rule applies to.
    pub fn of_rule(&self, index: usize) -> (Vec<NodeId>, Vec<(NodeId, usize)>, Vec<ValueId>) {
        (
            having(&self.nodes, index),
            having(&self.operands, index),
            having(&self.values, index),
        )
    }

    /// Returns the value of an operand, and the rules that may set the operand's range. These are the rules for the
    /// value and the rules for the operand.
    pub fn read(&self, graph: &Graph, (id, index): (NodeId, usize)) -> Option<(ValueId, Vec<usize>)> {
        let value = graph.node(id)?.inputs.get(index).copied().flatten()?;
        let rules = united(self.values.get(&value), self.operands.get(&(id, index)));
        Some((value, rules))
    }

    /// The rules for an operand and for its layer, in ascending order.
    pub fn of_operand(&self, (id, index): (NodeId, usize)) -> Vec<usize> {
        united(self.nodes.get(&id), self.operands.get(&(id, index)))
    }

    /// Returns, for each node, the rules that choose the type on which it computes. These are the rules for the node
    /// and for its operands. If operands and results share a grid, the rules for the node's results are included too.
    pub(super) fn computing(&self, graph: &Graph, spec: &TargetSpec) -> BTreeMap<NodeId, Vec<usize>> {
        let mut computing: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        let nodes = self.nodes.iter().map(|(&id, rules)| (id, rules));
        let operands = self.operands.iter().map(|(&(id, _), rules)| (id, rules));
        let moved = self.values.iter().filter_map(|(&value, rules)| {
            let (id, node) = graph.producer(value)?;
            moves_codes(spec, node).then_some((id, rules))
        });
        for (id, rules) in nodes.chain(operands).chain(moved) {
            let known = computing.entry(id).or_default();
            *known = united(Some(known), Some(rules));
        }
        computing
    }

    /// Converts the selection for the canonical graph to one for the graph that a target's rules have made from it. A
    /// rule applies to a new node if it applies to one of the nodes that the new node stands for. A rule applies to a
    /// new value if it applies to the old value with the same name. An id that is in both modules stands for the same
    /// node or value.
    #[must_use]
    pub fn carried(self, canonical: &Module, module: &Module) -> Selection {
        if std::ptr::eq(canonical, module) {
            return self;
        }
        let (before, after) = (canonical.main(), module.main());
        let mut by_source: BTreeMap<Symbol, BTreeSet<usize>> = BTreeMap::new();
        for (&id, rules) in &self.nodes {
            let sources = before.node(id).into_iter().flat_map(|node| node.sources.iter());
            sources.for_each(|&source| by_source.entry(source).or_default().extend(rules));
        }
        let mut carried = Selection::default();
        for (id, node) in after.nodes() {
            let rules: Vec<usize> = match before.node(id) {
                Some(_) => self.nodes.get(&id).cloned().unwrap_or_default(),
                None => {
                    let rules = node.sources.iter().filter_map(|source| by_source.get(source)).flatten();
                    rules.copied().collect::<BTreeSet<usize>>().into_iter().collect()
                }
            };
            if !rules.is_empty() {
                carried.nodes.insert(id, rules);
            }
        }
        let named = (self.values.iter()).filter_map(|(&value, rules)| Some((before.value(value)?.name, rules)));
        let by_name: BTreeMap<Symbol, &Vec<usize>> = named.collect();
        for (id, value) in after.values() {
            let rules = match before.value(id) {
                Some(_) => self.values.get(&id),
                None => by_name.get(&value.name).copied(),
            };
            carried.values.extend(rules.map(|rules| (id, rules.clone())));
        }
        self.carry_operands(before, after, &mut carried);
        carried
    }

    fn carry_operands(&self, before: &Graph, after: &Graph, carried: &mut Selection) {
        for (&(id, index), rules) in &self.operands {
            if after.node(id).is_some() {
                carried.operands.insert((id, index), rules.clone());
                continue;
            }
            // A new node that stands for the old node reads the same value, but perhaps at another position.
            let Some(node) = before.node(id) else { continue };
            let Some(value) = node.inputs.get(index).copied().flatten() else {
                continue;
            };
            for at in after.uses(value).filter(|at| before.node(at.node).is_none()) {
                let sources = after.node(at.node).map(|node| &node.sources);
                if sources.is_some_and(|sources| sources.iter().any(|source| node.sources.contains(source))) {
                    let known = carried.operands.entry((at.node, at.operand.into())).or_default();
                    *known = united(Some(known), Some(rules));
                }
            }
        }
    }
}

/// True if operands and results of a node share a grid on the target.
pub(crate) fn moves_codes(spec: &TargetSpec, node: &Node) -> bool {
    let row = spec.op_row(node.op.term()).map(|(_, row)| row);
    row.and_then(|row| row.recipe).is_some_and(Recipe::keeps_grid)
}

/// True if a node has weights, and rules can set how they are quantized.
pub fn weighs(node: &Node) -> bool {
    matches!(node.op, Op::Conv(_) | Op::Gemm(_) | Op::Gather(_))
}

/// The rules of both lists, in ascending order.
fn united(one: Option<&Vec<usize>>, other: Option<&Vec<usize>>) -> Vec<usize> {
    let rules: BTreeSet<usize> = one.into_iter().chain(other).flatten().copied().collect();
    rules.into_iter().collect()
}

/// The entries for which at least one rule passes `is_kind`, each with only the rules that pass.
fn those<K: Ord + Copy>(all: &BTreeMap<K, Vec<usize>>, is_kind: impl Fn(usize) -> bool) -> BTreeMap<K, Vec<usize>> {
    let kept = all.iter().filter_map(|(&of, rules)| {
        let kept: Vec<usize> = rules.iter().copied().filter(|&index| is_kind(index)).collect();
        (!kept.is_empty()).then_some((of, kept))
    });
    kept.collect()
}

/// The entries that the rule with index `index` applies to.
fn having<K: Copy>(all: &BTreeMap<K, Vec<usize>>, index: usize) -> Vec<K> {
    let having = all.iter().filter(|(_, rules)| rules.contains(&index));
    having.map(|(&of, _)| of).collect()
}
