//! **Shifts of accumulators.**
//! - What: finds the number of bits N by which the accumulators of two nodes (convolutions or Gemms) are shifted to the
//!   right before they are added in 16 bits.
//! - Why: the accumulators have 32 bits, but the target adds them in 16 bits.
//! - Preconditions: the weights of the two nodes have grids with which both accumulators are on the same grid
//!   ([`super::parameters`]).
//! - Effect: the scale of the addition's operands is the scale of the accumulators times 2^N. N is the smallest number
//!   in 1 ..= 16 for which the ranges of both operands and of the addition's result fit into 16 bits in every channel.
//!   If no N is large enough, N is 16 and the operands saturate. (AMCT instead searches for the N with the smallest
//!   error on the samples.) If the operands have no range, or are not two such accumulators, the addition is refused.

use crate::annotate::analyses::Role;
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, PassContext};
use crate::observers::GridKind;
use strait_core::{ConfigId, Derivation, Failure, Move, NodeId, Port, Reason, ReasonCode, refused};

/// The largest number of bits by which the requantization can shift an accumulator.
const MOST: u8 = 16;

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    // Nodes of an earlier scope may still be unchecked, because a refusal stopped the passes before this one.
    for id in draft.unchecked.clone() {
        let operand = |draft: &Draft, index| {
            let config = draft.table.id(id, Port::Operand(index))?;
            (draft.bound.get(config.index())?.role == Role::Shifted).then_some(config)
        };
        let (Some(first), Some(second)) = (operand(draft, 0), operand(draft, 1)) else {
            continue;
        };
        match shift(context, draft, id) {
            Ok((sums, bits)) => {
                for (config, sum) in [first, second].into_iter().zip(sums) {
                    draft.transition(config, Move::MasteredBy(Derivation::Shifted(sum, bits)))?;
                }
            }
            Err(Failure::Reason(reason)) => {
                if reason.code == ReasonCode::GivenGrid {
                    let pair = context
                        .how
                        .roles()
                        .shifted_pair(context.graph, id)
                        .into_iter()
                        .flatten();
                    let weights: Vec<_> = pair.filter_map(|id| draft.table.id(id, Port::Operand(1))).collect();
                    weights
                        .into_iter()
                        .for_each(|weights| draft.unfitting([weights; 2], id, &reason));
                }
                draft.refused.push((id, reason));
            }
            Err(defect) => return Err(AnnotateError::Ours(defect.to_string())),
        }
    }
    Ok(())
}

/// Returns the configs of both accumulators, and the number of bits N by which they are shifted.
fn shift(context: &PassContext<'_>, draft: &mut Draft, id: NodeId) -> Result<([ConfigId; 2], u8), Failure> {
    let none = || {
        Reason::new(
            ReasonCode::NoGrid,
            "it does not add two products that nothing else reads",
        )
    };
    let node = context.graph.node(id).ok_or_else(none)?;
    let pair = context.how.roles().shifted_pair(context.graph, id).ok_or_else(none)?;
    let [Some(first), Some(second)] = pair.map(|id| draft.table.id(id, Port::Result(0))) else {
        return Err(none().into());
    };
    let scheme = draft.scheme(first).ok_or_else(none)?;
    let [Some(grid), Some(other)] = [first, second].map(|config| draft.table.params(config)) else {
        return Err(none().into());
    };
    if grid != other {
        let text = "the grids of the weights that it adds the products of are given, and their sums are on two grids";
        return refused(ReasonCode::GivenGrid, text);
    }
    let scales = (0..grid.scale.channels().unwrap_or(1)).filter_map(|channel| grid.scale.get(channel));
    let finest = scales.fold(f64::INFINITY, |finest, &scale| finest.min(scale.into()));
    let mut reach = 0f64;
    let operands = node.inputs.iter().enumerate();
    let operands = operands.filter_map(|(index, value)| Some((Port::Operand(index), (*value)?)));
    let results = node.outputs.iter().enumerate();
    for (port, value) in operands.chain(results.map(|(index, &value)| (Port::Result(index), value))) {
        let [low, high] = match context.how.operand_range(id, port) {
            Some(from) => draft.ranges.from(context, value, from, GridKind::of(scheme))?,
            None => draft.ranges.of(context, value, GridKind::of(scheme))?,
        };
        reach = reach.max(f64::from(high)).max(-f64::from(low));
    }
    let codes = reach / finest;
    let fits = |bits: &u8| codes <= f64::from(i16::MAX) * f64::from(1u32 << bits);
    let bits = (1..MOST).find(fits).unwrap_or(MOST);
    let shifted = grid.shifted(bits);
    if !shifted.is_some_and(|grid| grid.scale.all(|scale| scale.is_normal())) {
        let text = format!("sums without {bits} of their bits have a scale that is no normal f32");
        return refused(ReasonCode::Range, text);
    }
    Ok(([first, second], bits))
}
