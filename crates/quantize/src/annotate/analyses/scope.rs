//! The part of a graph that one turn annotates: whole regions.
//!
//! A region is what grids can spread over: values that nodes of the accelerator bind to each other, because codes are moved
//! from one to the other or operands are aligned, and nothing else. Which operands share a grid, on which types, and which
//! range it covers is decided inside of a region; only the grids of weights look across. A node that moves to the host takes
//! bindings away, so that regions fall apart; they grow together by other settings alone.

use super::binding::binds;
use super::order::Order;
use crate::annotate::settings::Annotation;
use strait_core::{Def, Graph, NodeId, ValueId};

/// The regions of a graph's values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    /// By value: one of its region, itself for the first.
    above: Vec<u32>,
    /// By value: the next one of its region, in a ring.
    next: Vec<u32>,
}

impl Regions {
    /// Each value for itself, then what the nodes bind.
    pub(crate) fn new(graph: &Graph, how: &Annotation<'_>, order: &[NodeId]) -> Regions {
        let values = 0..graph.value_bound() as u32;
        let mut regions = Regions {
            above: values.clone().collect(),
            next: values.collect(),
        };
        for &id in order {
            regions.bind(graph, how, id);
        }
        regions
    }

    fn top(&mut self, mut at: u32) -> u32 {
        while self.above[at as usize] != at {
            let above = self.above[at as usize];
            self.above[at as usize] = self.above[above as usize];
            at = above;
        }
        at
    }

    fn bind(&mut self, graph: &Graph, how: &Annotation<'_>, id: NodeId) {
        let bound = binds(graph, how, id);
        for (&one, &other) in bound.iter().zip(bound.iter().skip(1)) {
            let (one, other) = (self.top(one.index() as u32), self.top(other.index() as u32));
            if one != other {
                self.above[other as usize] = one;
                // Two rings that swap their ends are one.
                self.next.swap(one as usize, other as usize);
            }
        }
    }

    /// All values of the region of one.
    pub(crate) fn ring(&self, value: ValueId) -> impl Iterator<Item = ValueId> {
        let first = value.index() as u32;
        let next = move |&at: &u32| Some(self.next[at as usize]).filter(|&next| next != first);
        std::iter::successors(Some(first), next).map(|at| ValueId::new(at as usize))
    }

    /// All values of the regions of these, each once.
    pub(crate) fn of(&mut self, values: impl IntoIterator<Item = ValueId>) -> Vec<ValueId> {
        let mut tops: Vec<u32> = values.into_iter().map(|value| self.top(value.index() as u32)).collect();
        tops.sort_unstable();
        tops.dedup();
        let values = tops.into_iter().flat_map(|top| self.ring(ValueId::new(top as usize)));
        values.collect()
    }

    /// Takes regions apart and binds their values anew: all values of whole regions, and the nodes that touch them.
    pub(crate) fn renew(&mut self, graph: &Graph, how: &Annotation<'_>, scope: &Scope) {
        for value in &scope.values {
            let at = value.index();
            (self.above[at], self.next[at]) = (at as u32, at as u32);
        }
        for &id in &scope.nodes {
            self.bind(graph, how, id);
        }
    }
}

/// Values of whole regions, and the nodes that make or read them.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// The nodes, in the order of the graph.
    pub(crate) nodes: Vec<NodeId>,
    /// The values: what nodes make from the last to the first, then inputs and constants.
    pub(crate) values: Vec<ValueId>,
    within: Vec<bool>,
}

impl Scope {
    /// The whole of a graph.
    pub(crate) fn all(graph: &Graph, order: &[NodeId]) -> Scope {
        let made = order.iter().rev().filter_map(|&id| graph.node(id));
        let made = made.flat_map(|node| node.outputs.iter().copied());
        let others = graph
            .values()
            .map(|(id, _)| id)
            .filter(|&id| graph.producer(id).is_none());
        Scope {
            nodes: order.to_vec(),
            values: made.chain(others).collect(),
            within: vec![true; graph.value_bound()],
        }
    }

    /// The values, with the nodes that make or read them, sorted by the position of nodes in the graph's order.
    pub(crate) fn new(graph: &Graph, order: &Order, mut values: Vec<ValueId>) -> Scope {
        let position = |id: NodeId| order.position(id).unwrap_or(u32::MAX);
        let mut nodes: Vec<NodeId> = Vec::new();
        for &value in &values {
            nodes.extend(graph.producer(value).map(|(id, _)| id));
            nodes.extend(graph.uses(value).map(|at| at.node));
        }
        nodes.sort_unstable_by_key(|&id| position(id));
        nodes.dedup();
        let place = |value: ValueId| match graph.value(value).map(|value| value.def) {
            Some(Def::Node(id, index)) => (u32::MAX - 1 - position(id), usize::from(index)),
            _ => (u32::MAX, value.index()),
        };
        values.sort_by_cached_key(|&value| place(value));
        let mut within = vec![false; graph.value_bound()];
        for value in &values {
            within[value.index()] = true;
        }
        Scope { nodes, values, within }
    }

    /// True if a value is annotated in this turn.
    pub(crate) fn has(&self, value: ValueId) -> bool {
        self.within.get(value.index()).copied().unwrap_or(false)
    }
}
