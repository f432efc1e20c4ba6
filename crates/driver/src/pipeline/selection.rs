//! The rules of the configuration that hold for each layer, operand and tensor.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Graph, Node, NodeId, Op, Term, ValueId};
use strait_target::{TargetSpec, spec::RecipeName};

use crate::config::types::Quantize;

/// The positions of the rules that match, in rising order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) nodes: BTreeMap<NodeId, Vec<usize>>,
    /// Of operands by their position, which are activations.
    pub(super) operands: BTreeMap<(NodeId, usize), Vec<usize>>,
    /// Of the results of those nodes, too.
    pub(super) values: BTreeMap<ValueId, Vec<usize>>,
}

impl Selection {
    /// Choice of the rules for a target alone.
    pub(super) fn of_target(&self, quantize: &Quantize, target: &str) -> Selection {
        let is_for = |&&index: &&usize| quantize.rule.get(index).is_some_and(|rule| rule.is_for(target));
        let kept = |rules: &Vec<usize>| {
            let kept: Vec<usize> = rules.iter().filter(is_for).copied().collect();
            (!kept.is_empty()).then_some(kept)
        };
        Selection {
            nodes: self
                .nodes
                .iter()
                .filter_map(|(&id, rules)| Some((id, kept(rules)?)))
                .collect(),
            operands: self
                .operands
                .iter()
                .filter_map(|(&at, rules)| Some((at, kept(rules)?)))
                .collect(),
            values: self
                .values
                .iter()
                .filter_map(|(&id, rules)| Some((id, kept(rules)?)))
                .collect(),
        }
    }

    /// The value of an operand, and the rules for its range: those for the value and those for the operand.
    pub(super) fn read(&self, graph: &Graph, (id, index): (NodeId, usize)) -> Option<(ValueId, Vec<usize>)> {
        let value = graph.node(id)?.inputs.get(index).copied().flatten()?;
        let rules = united(self.values.get(&value), self.operands.get(&(id, index)));
        Some((value, rules))
    }

    /// The rules that choose the type of what each node computes on: those for the node, for its operands, and, where these
    /// share their grid with the results, for its results.
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
}

/// True if operands and results of a node share a grid on the target.
pub(super) fn moves_codes(spec: &TargetSpec, node: &Node) -> bool {
    let row = spec.op_row(node.op.term()).map(|(_, row)| row);
    row.and_then(|row| row.recipe).is_some_and(RecipeName::keeps_grid)
}

/// True if a node has weights that configurations speak of.
pub(super) fn weighs(node: &Node) -> bool {
    matches!(node.op, Op::Conv(_) | Op::Gemm(_))
}

/// True if a node takes the means of windows.
pub(super) fn computes_means(node: &Node) -> bool {
    matches!(node.op, Op::AveragePool(_)) || node.op.term() == Term::ReduceMean
}

/// The rules of both lists, in rising order.
pub(super) fn united(one: Option<&Vec<usize>>, other: Option<&Vec<usize>>) -> Vec<usize> {
    let rules: BTreeSet<usize> = one.into_iter().chain(other).flatten().copied().collect();
    rules.into_iter().collect()
}
