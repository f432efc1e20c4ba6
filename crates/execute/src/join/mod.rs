//! Joins primitives into fast loops. Each join computes exactly what its nodes compute one after the other:
//! - [`epilogue`]: a producer of accumulators, the requantization after it and the clamp after that, in registers;
//! - [`sum`]: a sum whose operands are shifted and requantized codes; by two tables if the codes have 8 bits, and
//!   otherwise code by code;
//! - [`chain`]: consecutive functions of 8-bit codes, as one table.
//!
//! A node is joined only if nothing else uses its result.

mod addend;
mod chain;
mod epilogue;
mod sum;
mod table;

use crate::error::{ExecuteError, StepError};
use crate::plan::PlanOptions;
use crate::site::{NodeSlots, Slot, slot};
use crate::step::Step;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use strait_core::{Graph, Module, Node, NodeId, ValueId};

/// Several nodes as one step.
pub(crate) struct Join {
    /// The node that errors name.
    pub(crate) node: NodeId,
    pub(crate) inputs: SmallVec<[Option<ValueId>; 3]>,
    pub(crate) output: ValueId,
    pub(crate) step: Box<dyn Step>,
}

/// The joins of a graph.
pub(crate) struct Joins {
    /// The joins by their last node, in whose place they run.
    by_tail: BTreeMap<NodeId, Join>,
    /// For each node: whether it belongs to a join.
    taken: Vec<bool>,
}

/// What runs in the place of a node.
pub(crate) enum Replacement {
    /// The node runs by itself.
    Alone,
    /// Nothing runs, because a join computes the node elsewhere.
    Elsewhere,
    /// The join runs that ends with this node.
    Here(Join),
}

impl Joins {
    /// The joins of a graph before any is found.
    pub(crate) fn none(graph: &Graph) -> Joins {
        Joins {
            by_tail: BTreeMap::new(),
            taken: vec![false; graph.node_bound()],
        }
    }

    /// Finds all joins in a graph whose nodes are in topological `order`.
    pub(crate) fn find(
        module: &Module,
        graph: &Graph,
        options: &PlanOptions<'_>,
        order: &[NodeId],
    ) -> Result<Joins, ExecuteError> {
        let mut joins = Joins::none(graph);
        let scope = Scope { module, graph, options };
        // Sums are looked for first: they need whole operands, of which other joins would take parts.
        for look in [sum::look, epilogue::look, chain::look] {
            for &node in order {
                if !joins.taken[node.index()]
                    && let Some((join, nodes)) = look(&scope, &joins, node)?
                {
                    joins.add(join, &nodes);
                }
            }
        }
        Ok(joins)
    }

    fn add(&mut self, join: Join, nodes: &[NodeId]) {
        nodes.iter().for_each(|node| self.taken[node.index()] = true);
        if let Some(&tail) = nodes.last() {
            self.by_tail.insert(tail, join);
        }
    }

    /// What runs in the place of a node. A join is returned only once.
    pub(crate) fn take(&mut self, node: NodeId) -> Replacement {
        match self.by_tail.remove(&node) {
            Some(join) => Replacement::Here(join),
            None if self.taken[node.index()] => Replacement::Elsewhere,
            None => Replacement::Alone,
        }
    }
}

/// A join and its nodes, of which it runs in the place of the last one; `None` if there is no join.
type FoundJoin = Result<Option<(Join, Vec<NodeId>)>, ExecuteError>;

/// The graph in which joins are searched.
struct Scope<'a> {
    module: &'a Module,
    graph: &'a Graph,
    options: &'a PlanOptions<'a>,
}

impl<'a> Scope<'a> {
    fn node(&self, id: NodeId) -> Option<&'a Node> {
        self.graph.node(id)
    }

    /// The first result of a node.
    fn result(&self, id: NodeId) -> Option<ValueId> {
        self.node(id)?.outputs.first().copied()
    }

    fn site(&self, id: NodeId) -> Result<NodeSlots<'a>, ExecuteError> {
        NodeSlots::new(self.module, self.graph, id, self.options)
    }

    fn slot(&self, id: ValueId) -> Result<Slot<'a>, ExecuteError> {
        slot(self.module, self.graph, id)
    }

    /// The only node that uses the result of `id`, if it is not joined yet and takes the result as its first operand.
    fn follower(&self, joins: &Joins, id: NodeId) -> Option<(NodeId, &'a Node)> {
        let only = self.graph.only_use(self.result(id)?)?;
        let free = only.operand == 0 && !joins.taken[only.node.index()];
        free.then_some((only.node, self.node(only.node)?))
    }

    fn error(&self, id: NodeId, source: StepError) -> ExecuteError {
        ExecuteError::at(self.module, self.graph, id, source)
    }
}
