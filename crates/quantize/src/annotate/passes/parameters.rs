//! **Parameter quantization.**
//! - What: finds a grid for the weights of each node that has weights.
//! - Why: the grid of weights depends on the largest weights, and also on the bias and the result. If the target only
//!   shifts, there are few grids to choose from.
//! - Preconditions: operands and results have grids.
//! - Effect: weights are activated. If no shift leads to the grid of a result, that grid is made coarser. Grids that
//!   are derived from it change too, and so on, until nothing changes. Nodes for which the grid would become too
//!   coarse, and nodes whose weights get no grid, are refused.

use super::weights::{self, Weights};
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::refuse;
use crate::annotate::state::{COARSEST, Draft, PassContext};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{ConfigId, Derivation, Failure, Grid, Move, NodeId, Origin, Port, QuantParams, Reason, ReasonCode};

/// Finds grids for the weights of all nodes that read or make a value of the scope. If a node's operand or result
/// becomes coarser, the node is looked at again. Each time, the scale of a grid at least doubles, and it grows by a
/// factor of at most [`COARSEST`] in total. So each node is looked at a limited number of times.
pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    let mut groups = Groups::default();
    let mut sweep = due(context, draft, &mut groups)?;
    let mut next = BTreeSet::new();
    loop {
        let Some((position, id)) = sweep.pop_first() else {
            if next.is_empty() || !draft.refused.is_empty() {
                // If a refusal stops the pass, the remaining nodes are looked at in a later run.
                draft.pending = next.into_iter().map(|(_, id)| id).collect();
                return Ok(());
            }
            std::mem::swap(&mut sweep, &mut next);
            continue;
        };
        let weights = match weights::alone(context, &draft.table, id) {
            Ok(None) => weights::multiplied(context, &draft.table, id),
            alone => alone,
        };
        draft.raised.remove(&id);
        let factor = match weights {
            Err(Failure::Reason(reason)) => {
                let weights = draft.table.id(id, weights_port(context, id));
                if let Some(weights) = weights.filter(|&weights| draft.is_given(weights)) {
                    draft.unfitting([weights; 2], id, &reason);
                }
                draft.refused.push((id, reason));
                continue;
            }
            Err(defect) => return Err(AnnotateError::Ours(defect.to_string())),
            Ok(None) => continue,
            Ok(Some(Weights::Grid(params, raised))) => {
                draft.raised.extend(raised.map(|raised| (id, raised)));
                if let Some(config) = draft.table.id(id, weights_port(context, id)) {
                    draft.transition(config, Move::Activate(Grid::new(params, Origin::Observed)))?;
                }
                continue;
            }
            Ok(Some(Weights::Coarsen(factor))) => factor,
        };
        let Some(config) = draft.table.id(id, Port::Result(0)) else {
            continue;
        };
        let root = draft.table.root(config);
        let Some(before) = draft.table.grid(root) else { continue };
        if before.origin == Origin::Given {
            refuse(
                draft,
                config,
                "would have to be coarser for the shift, and its grid is given",
            );
            continue;
        }
        let Some((scale, zero)) = before.params.as_tensor() else {
            continue;
        };
        let total = &mut draft.coarsened.entry(root).or_insert((before, 1.0)).1;
        *total *= factor;
        let (total, coarser) = (*total, (f64::from(scale) * factor) as f32);
        if total > COARSEST || !coarser.is_finite() {
            let text = format!("the grid of its result would have to be {total} times as coarse");
            draft.refused.push((id, Reason::new(ReasonCode::NoShift, text)));
            continue;
        }
        let coarser = Grid::new(QuantParams::tensor(coarser, zero), Origin::Coarsened);
        for &dependent in groups.regrid(context, draft, root, coarser)? {
            if dependent.0 > position {
                sweep.insert(dependent);
            } else {
                next.insert(dependent);
            }
        }
    }
}

/// A node, with its position in the order of the graph.
type OrderedNode = (u32, NodeId);

/// Returns the nodes whose weights may need another grid: the nodes of the scope, and all nodes around a grid that an
/// earlier run made coarser because of a node of the scope. Such a grid gets the scale that its range requires, and may
/// become coarser again.
fn due(
    context: &PassContext<'_>,
    draft: &mut Draft,
    groups: &mut Groups,
) -> Result<BTreeSet<OrderedNode>, AnnotateError> {
    let mut open: Vec<NodeId> = std::mem::take(&mut draft.pending).into_iter().collect();
    let mut found: BTreeSet<OrderedNode> = open.iter().map(|&id| (context.position(id), id)).collect();
    while let Some(id) = open.pop() {
        let Some(config) = draft.table.id(id, Port::Result(0)) else {
            continue;
        };
        let root = draft.table.root(config);
        let Some((before, _)) = draft.coarsened.remove(&root) else {
            continue;
        };
        for &dependent in groups.regrid(context, draft, root, before)? {
            if found.insert(dependent) {
                open.push(dependent.1);
            }
        }
    }
    Ok(found)
}

/// For each group, identified by its root config, the nodes whose weights may need another grid if the group's grid
/// changes. Each region is searched only once, even if several of its grids change.
#[derive(Default)]
struct Groups(BTreeMap<ConfigId, Vec<OrderedNode>>);

impl Groups {
    /// Gives a group another grid, even if the group lies outside of the scope, and returns the nodes whose weights may
    /// need another grid. Codes that depend on the old grid are removed.
    fn regrid(
        &mut self,
        context: &PassContext<'_>,
        draft: &mut Draft,
        root: ConfigId,
        grid: Grid,
    ) -> Result<&[OrderedNode], AnnotateError> {
        if !self.0.contains_key(&root) {
            self.walk(context, draft, root)?;
        }
        draft.transition(root, Move::Activate(grid))?;
        Ok(self.0.entry(root).or_default())
    }

    /// Finds the nodes with weights that depend on the grids of a region. These are the nodes whose first operand or
    /// first result has one of these grids.
    fn walk(&mut self, context: &PassContext<'_>, draft: &mut Draft, root: ConfigId) -> Result<(), AnnotateError> {
        let Some(first) = draft.bound.get(root.index()).map(|bound| bound.value) else {
            return Ok(());
        };
        for value in context.regions.ring(first) {
            let made = context.graph.producer(value).map(|(id, _)| (id, Port::Result(0)));
            let read = context
                .graph
                .uses(value)
                .map(|at| (at.node, Port::Operand(at.operand.into())));
            for (id, port) in made.into_iter().chain(read) {
                draft.touch(context, id)?;
                if !matches!(port, Port::Operand(0) | Port::Result(0)) {
                    continue;
                }
                let Some(config) = draft.table.id(id, port) else {
                    continue;
                };
                let own = draft.table.root(config);
                // A grid that is derived from another one changes with it.
                let of = match draft.table.derivation(own) {
                    Some(Derivation::Shifted(of, _)) => Some(draft.table.root(of)),
                    _ => None,
                };
                for root in of.into_iter().chain([own]) {
                    self.0.entry(root).or_default().push((context.position(id), id));
                }
            }
        }
        Ok(())
    }
}

/// The operand with the weights of a node.
fn weights_port(context: &PassContext<'_>, id: NodeId) -> Port {
    Port::Operand(context.graph.node(id).map_or(1, |node| node.op.weights_operand()))
}
