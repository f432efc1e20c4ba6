//! The cost of the graphs that control-flow nodes run.

use crate::cost::{Cost, within};
use crate::error::ExecuteError;
use std::collections::BTreeMap;
use strait_core::{GraphId, Module, Op};

/// How deep nested graphs are followed; a plan allows no more.
const DEEPEST: usize = 32;

/// Costs of graphs that nodes run. Each is computed once.
#[derive(Default)]
pub(crate) struct Named {
    costs: BTreeMap<GraphId, Cost>,
    depth: usize,
}

/// The cost of everything that one node runs.
#[derive(Default)]
pub(crate) struct Inside {
    pub(crate) constants: u64,
    pub(crate) copies: u64,
    /// The most bytes in use at one time.
    pub(crate) peak: u64,
    pub(crate) operations: u64,
}

impl Named {
    /// The cost of the graphs that an op runs: the weights of all of them, and the work of the most expensive one,
    /// times the known number of runs.
    ///
    /// # Errors
    /// As for [`crate::cost`].
    pub(crate) fn of(&mut self, module: &Module, op: &Op) -> Result<Inside, ExecuteError> {
        let mut inside = Inside::default();
        let runs = match op {
            Op::Loop(op) => u64::try_from(op.trips).unwrap_or(1),
            _ => 1,
        };
        for graph in op.graphs() {
            if self.depth == DEEPEST {
                let text = format!("graphs name each other more than {DEEPEST} deep");
                return Err(ExecuteError::Ours(text));
            }
            if !self.costs.contains_key(&graph) {
                self.depth += 1;
                let cost = within(module, graph, self);
                self.depth -= 1;
                self.costs.insert(graph, cost?);
            }
            let Some(cost) = self.costs.get(&graph) else { continue };
            inside.constants = inside.constants.saturating_add(cost.constants);
            inside.copies = inside.copies.saturating_add(cost.copies);
            // A nested graph has inputs and outputs of its own.
            let peak = cost.peak.amount.saturating_add(cost.ports);
            inside.peak = inside.peak.max(peak);
            // A run counts as work even if it computes nothing.
            let operations = cost.operations.max(1).saturating_mul(runs);
            inside.operations = inside.operations.max(operations);
        }
        Ok(inside)
    }
}
