//! **Fusion.**
//! - What: joins operand and result of passive operations.
//! - Why: an op that only moves or compares codes needs no grid of its own. It works on any grid.
//! - Preconditions: configs exist. The target's table lists the passive ops (`passes.passive`). Ops whose recipe moves
//!   codes are passive too.
//! - Effect: the results of a passive op have the grid of its first operand, which is the default of
//!   `alignment.passive`. If a pad inserts another number than 0, the operand takes the grid of the result instead,
//!   which covers both the elements and that number. Functions that exporters write as several nodes (Swish as a
//!   sigmoid and a product, Mish, GELU, HardSwish) are single ops after rewriting. They are computed from the codes of
//!   one operand, so no grids are needed for the values in between.

use crate::annotate::analyses::{Binding, binding, keeps_grid};
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::refuse;
use crate::annotate::state::{Draft, PassContext};
use strait_core::{ConfigId, Derivation, Move};

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    for &id in &context.scope.nodes {
        let Some(node) = context.graph.node(id) else { continue };
        let bound = binding(context.graph, context.how, id);
        // The result of a lookup may have another type than the operand of the lookup. This result then keeps a grid of
        // its own.
        let moves = context
            .how
            .roles()
            .recipe(id, node)
            .is_some_and(|(_, kind)| keeps_grid(kind));
        let bind = |draft: &mut Draft, id, to| if moves { draft.bind(id, to) } else { draft.join(id, to) };
        let (operands, results) = (
            draft.activations(id, node.inputs.len()),
            draft.results(id, node.outputs.len()),
        );
        let (Some(&operand), Some(&result)) = (operands.first(), results.first()) else {
            continue;
        };
        match bound {
            Binding::Padded => {
                bind(draft, operand, result)?;
                draft.mark(operand, |at| at.covered = true);
            }
            Binding::Passive => {
                for &result in &results {
                    match bits_off(draft, operand, result) {
                        0 => bind(draft, result, operand)?,
                        _ if draft.is_given(result) => {
                            refuse(
                                draft,
                                result,
                                "follows from operand 0 by a shift, and its grid is given",
                            );
                        }
                        bits => draft.transition(result, Move::MasteredBy(Derivation::Shifted(operand, bits)))?,
                    }
                }
            }
            Binding::Free | Binding::Aligned { .. } => {}
        }
    }
    Ok(())
}

/// Returns how many of the lowest bits a node drops from the codes that it moves. If it drops n bits, its result has a
/// type with n bits fewer, and 2^n times the scale of the operand.
fn bits_off(draft: &Draft, operand: ConfigId, result: ConfigId) -> u8 {
    let bits = |id| Some(draft.scheme(id)?.elem()?.int_type()?.bits());
    let bits = bits(operand).zip(bits(result));
    bits.map_or(0, |(from, to)| from.saturating_sub(to))
}
