//! The part of a graph that one run of the annotation passes (a turn) annotates. It consists of whole regions.
//!
//! A region is a set of values over which a grid can spread: nodes on the accelerator bind these values to each other,
//! because they move codes from one to the other or because their operands are aligned. Which operands share a grid,
//! which types they have, and which range the grid covers is decided within a region, without looking at other regions.
//! Only the grids of weights depend on more than one region. A node that moves to the host no longer binds its values,
//! so its region may fall apart. Regions are joined only if settings change.

use super::binding::binds;
use super::order::Order;
use crate::annotate::settings::Annotation;
use strait_core::{Def, Graph, NodeId, ValueId};

/// The regions of a graph's values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    /// For each value, another value of the same region. Following these links always ends at the first value of the
    /// region, whose link is itself.
    above: Vec<u32>,
    /// For each value, the next value of the same region. Following these links from a value leads through the whole
    /// region and back to the value.
    next: Vec<u32>,
}

impl Regions {
    /// Starts with a region for each value, then joins the regions of values that a node binds to each other.
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
                // If two values are in different rings, swapping their successors joins the rings into one.
                self.next.swap(one as usize, other as usize);
            }
        }
    }

    /// All values in the region of `value`.
    pub(crate) fn ring(&self, value: ValueId) -> impl Iterator<Item = ValueId> {
        let first = value.index() as u32;
        let next = move |&at: &u32| Some(self.next[at as usize]).filter(|&next| next != first);
        std::iter::successors(Some(first), next).map(|at| ValueId::new(at as usize))
    }

    /// All values in the regions of `values`, each listed once.
    pub(crate) fn of(&mut self, values: impl IntoIterator<Item = ValueId>) -> Vec<ValueId> {
        let mut tops: Vec<u32> = values.into_iter().map(|value| self.top(value.index() as u32)).collect();
        tops.sort_unstable();
        tops.dedup();
        let values = tops.into_iter().flat_map(|top| self.ring(ValueId::new(top as usize)));
        values.collect()
    }

    /// Finds the regions of a scope again: starts with a region for each value, and joins values that a node binds to
    /// each other. The scope must contain all values of its regions, and the nodes that touch these values.
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

/// The values of whole regions, and the nodes that make or read them.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// The nodes, in the order of the graph.
    pub(crate) nodes: Vec<NodeId>,
    /// The values: first the results of nodes from the last node to the first, then inputs and constants.
    pub(crate) values: Vec<ValueId>,
    within: Vec<bool>,
}

impl Scope {
    /// The scope that contains all values and nodes of a graph.
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

    /// The scope of `values`, with the nodes that make or read them, in the order of the graph.
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

    /// True if a value belongs to this scope.
    pub(crate) fn has(&self, value: ValueId) -> bool {
        self.within.get(value.index()).copied().unwrap_or(false)
    }
}
