//! The cost of what control flow runs: the graphs that nodes name.

use crate::cost::{Cost, within};
use crate::error::ExecuteError;
use std::collections::BTreeMap;
use strait_core::{GraphId, Module, Op};

/// The most graphs inside of each other whose costs are looked for; a plan has no more.
const DEEPEST: usize = 32;

/// Costs of graphs that nodes name, each found once.
#[derive(Default)]
pub(crate) struct Named {
    costs: BTreeMap<GraphId, Cost>,
    depth: usize,
}

/// The cost of all that one node runs.
#[derive(Default)]
pub(crate) struct Inside {
    pub(crate) constants: u64,
    pub(crate) copies: u64,
    /// The most bytes at one time.
    pub(crate) peak: u64,
    pub(crate) operations: u64,
}

impl Named {
    /// The cost of the graphs that an op names: all weights, and the work of the graph with the most, as often as it is
    /// known to run.
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
            // Operands and results are its own.
            let peak = cost.peak.amount.saturating_add(cost.ports);
            inside.peak = inside.peak.max(peak);
            // A run is work even where nothing is computed.
            let operations = cost.operations.max(1).saturating_mul(runs);
            inside.operations = inside.operations.max(operations);
        }
        Ok(inside)
    }
}
