//! **Fusion.** What: passive operations.
//! Why: an op that moves or compares codes computes on whatever grid they have.
//! Preconditions: configs; which ops are meant is the target's data (`passes.passive`), besides those whose recipe moves codes.
//! Effect: the results of a passive op are on the grid of its first operand, as `alignment.passive` has it by default; where a
//! pad puts in another number than 0, the operand is on that of the result, which covers both. Functions that an
//! exporter has taken apart (Swish as a sigmoid and a product, Mish, GELU, HardSwish) are one op since the rewrites, computed
//! from the codes of one operand: no grid in between is left to be shared.

use crate::annotate::analyses::{Binding, binding, keeps_grid};
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::given::refuse;
use crate::annotate::state::{Draft, PassContext};
use strait_core::{ConfigId, Derivation, Move};

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    for &id in &context.scope.nodes {
        let Some(node) = context.graph.node(id) else { continue };
        let bound = binding(context.graph, context.how, id);
        // A function by a table may leave codes of another type, which stay on their own grid.
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

/// The bits that a node takes off codes that it moves: its result has a type of fewer bits, on the grid of the operand
/// without the lowest ones.
fn bits_off(draft: &Draft, operand: ConfigId, result: ConfigId) -> u8 {
    let bits = |id| Some(draft.scheme(id)?.elem()?.int_type()?.bits());
    let bits = bits(operand).zip(bits(result));
    bits.map_or(0, |(from, to)| from.saturating_sub(to))
}
