//! The joins that were found, and the graph that is searched.

use crate::error::ExecuteError;
use crate::options::PlanOptions;
use crate::prelude::*;
use crate::site::{Slot, slot};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use strait_core::{Graph, Module, Node, NodeId, ValueId};

/// The node whose name errors state.
pub(crate) struct Join {
    /// The node that is named in errors.
    pub(crate) node: NodeId,
    pub(crate) inputs: SmallVec<[Option<ValueId>; 3]>,
    /// The results. In a graph, they are the results of different nodes.
    pub(crate) outputs: SmallVec<[ValueId; 1]>,
    pub(crate) step: Box<dyn Step>,
    /// The step for operands and results whose channels are last, if there is one.
    pub(crate) last: Option<Box<dyn Step>>,
}

/// The joins of a graph.
pub(crate) struct Joins {
    /// The joins, by their last nodes. A join runs in the place of its last node.
    by_tail: BTreeMap<NodeId, Join>,
    /// For each node, whether it belongs to a join.
    pub(super) taken: Vec<bool>,
}

/// What runs in the place of a node.
pub(crate) enum Replacement {
    /// The node runs by itself.
    Alone,
    /// Nothing runs, because a join computes the node elsewhere.
    Elsewhere,
    /// The join whose last node is this one runs here.
    Here(Join),
}

impl Joins {
    /// Returns an empty list of joins for a graph.
    pub(crate) fn none(graph: &Graph) -> Joins {
        Joins {
            by_tail: BTreeMap::new(),
            taken: vec![false; graph.node_bound()],
        }
    }

    pub(super) fn add(&mut self, join: Join, nodes: &[NodeId]) {
        nodes.iter().for_each(|node| self.taken[node.index()] = true);
        if let Some(&tail) = nodes.last() {
            self.by_tail.insert(tail, join);
        }
    }

    /// Returns what runs in the place of a node. A join is returned at its last node, and only once.
    pub(crate) fn take(&mut self, node: NodeId) -> Replacement {
        match self.by_tail.remove(&node) {
            Some(join) => Replacement::Here(join),
            None if self.taken[node.index()] => Replacement::Elsewhere,
            None => Replacement::Alone,
        }
    }
}

/// A join, which runs in the place of its last node, and all its nodes. `None` if there is no join.
pub(super) type FoundJoin = Result<Option<(Join, Vec<NodeId>)>, ExecuteError>;

/// The graph that is searched for joins.
pub(super) struct Scope<'a> {
    pub(super) module: &'a Module,
    pub(super) graph: &'a Graph,
    pub(super) options: &'a PlanOptions<'a>,
    /// True if the plan can store values with their channels last.
    pub(super) last: bool,
    /// For each node, its position in the order in which nodes run.
    pub(super) positions: Vec<usize>,
}

impl<'a> Scope<'a> {
    /// The position of a node in the order in which nodes run.
    pub(super) fn position(&self, id: NodeId) -> usize {
        self.positions.get(id.index()).copied().unwrap_or_default()
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&'a Node> {
        self.graph.node(id)
    }

    /// Returns the first result of a node.
    pub(super) fn result(&self, id: NodeId) -> Option<ValueId> {
        self.node(id)?.outputs.first().copied()
    }

    pub(super) fn site(&self, id: NodeId) -> Result<NodeSlots<'a>, ExecuteError> {
        let site = NodeSlots::new(self.module, self.graph, id, self.options)?;
        Ok(NodeSlots {
            last: self.last,
            ..site
        })
    }

    pub(super) fn slot(&self, id: ValueId) -> Result<Slot<'a>, ExecuteError> {
        slot(self.module, self.graph, id)
    }

    /// Returns the only node that uses the result of `id`. Returns `None` if several nodes use the result, if the only
    /// node does not read the result as its first operand, or if this node is already part of a join.
    pub(super) fn follower(&self, joins: &Joins, id: NodeId) -> Option<(NodeId, &'a Node)> {
        let only = self.graph.only_use(self.result(id)?)?;
        let free = only.operand == 0 && !joins.taken[only.node.index()];
        free.then_some((only.node, self.node(only.node)?))
    }

    pub(super) fn error(&self, id: NodeId, source: StepError) -> ExecuteError {
        ExecuteError::at(self.module, self.graph, id, source)
    }
}
