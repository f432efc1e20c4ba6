//! Joins `producer → requantize → clamp`: the producer's loops also requantize and clamp each accumulator.

use super::scope::{FoundJoin, Join, Joins, Scope};
use crate::channels_last;
use crate::integer;
use crate::prelude::Orders;
use crate::site::Slot;
use smallvec::{SmallVec, smallvec};
use strait_core::{Fused, Kind, NodeId, Op, Term, ValueId};
use strait_requantize::clamp_twice;

/// The steps that a node's loops apply to its accumulators, from the nodes after it.
pub(super) struct Epilogue {
    pub(super) fused: Option<Fused>,
    /// The operand that gives the channel of each element, if the joined requantization has one.
    pub(super) picks: Option<ValueId>,
    /// The requantization and the clamps that were joined.
    pub(super) nodes: Vec<NodeId>,
}

pub(super) fn look(scope: &Scope<'_>, joins: &Joins, id: NodeId) -> FoundJoin {
    let Some(node) = scope.node(id) else {
        return Ok(None);
    };
    let term = node.op.term();
    let makes_accumulators =
        term.kind() == Kind::Accumulates || matches!(term, Term::ReduceMax | Term::ReduceMin | Term::Requantize);
    let mut site = scope.site(id)?;
    // Only the first operand must have a grid, because an i64 bias has none.
    let integers =
        site.input(0).is_ok_and(Slot::is_quantized) && site.inputs.iter().flatten().all(|slot| slot.elem.is_integer());
    if !makes_accumulators || !integers {
        return Ok(None);
    }
    let Epilogue { fused, picks, nodes } = behind(scope, joins, id);
    let Some(output) = nodes.last().and_then(|&tail| scope.result(tail)) else {
        return Ok(None);
    };
    site.fused = fused;
    site.outputs[0] = scope.slot(output)?;
    let mut operands: SmallVec<[Option<ValueId>; 3]> = node.inputs.clone();
    if let (Some(picks), Some(position)) = (picks, node.op.channel_operand()) {
        operands.resize(position + 1, None);
        operands[position] = Some(picks);
        site.inputs.resize(position + 1, None);
        site.inputs[position] = Some(scope.slot(picks)?);
    }
    let step = integer::prepare(&site).map_err(|error| scope.error(id, error))?;
    let last = match scope.last && step.orders() == Orders::Planes {
        true => channels_last::prepare(&site).map_err(|error| scope.error(id, error))?,
        false => None,
    };
    let read = |(index, value): (usize, &Option<_>)| value.filter(|_| step.reads(index));
    let inputs = operands.iter().enumerate().map(read).collect();
    let join = Join {
        node: id,
        inputs,
        outputs: smallvec![output],
        step,
        last,
    };
    Ok(Some((join, [vec![id], nodes].concat())))
}

/// Collects the requantization and the clamps after a node. A requantization that is already fused into the node comes
/// first.
pub(super) fn behind(scope: &Scope<'_>, joins: &Joins, id: NodeId) -> Epilogue {
    let mut epilogue = Epilogue {
        fused: None,
        picks: None,
        nodes: Vec::new(),
    };
    let Some(node) = scope.node(id) else { return epilogue };
    let result = scope.result(id).and_then(|v| scope.graph.value(v));
    let rank = result.map_or(0, |v| v.ty.shape.len());
    let axis = node.op.channel_axis(rank);
    epilogue.fused = match (&node.op, node.fused.as_deref()) {
        (Op::Requantize(op), None) => Some(Fused::new(op.form.clone(), None)),
        // A second requantization cannot be joined.
        (Op::Requantize(_), Some(_)) => return epilogue,
        (_, fused) => fused.cloned(),
    };
    let mut last = id;
    while let Some((next, follower)) = scope.follower(joins, last) {
        let composed = match (&follower.op, &epilogue.fused) {
            _ if follower.fused.is_some() => None,
            (Op::Requantize(op), None) => {
                epilogue.picks = follower.picked_channels();
                let fits = match epilogue.picks {
                    Some(_) => node.op.channel_operand().is_some(),
                    None => op.form.channels().is_none() || axis == Some(op.axis as usize),
                };
                fits.then(|| Fused::new(op.form.clone(), None))
            }
            // A target's loops only compute the forms in its table. If the table does not have the form with this
            // clamp, the clamp is not joined.
            (Op::Clamp(op), Some(fused)) => {
                let clamp = clamp_twice(fused.clamp, Some([op.min, op.max]));
                let takes = scope.options.loops.loops_for(&fused.requant, clamp).is_ok();
                takes.then(|| Fused { clamp, ..fused.clone() })
            }
            _ => None,
        };
        let Some(composed) = composed else { break };
        epilogue.fused = Some(composed);
        epilogue.nodes.push(next);
        last = next;
    }
    epilogue
}
