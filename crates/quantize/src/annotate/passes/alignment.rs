//! **Alignment.** What: operands and results of one node on one grid, as [`Alignment`] says for its kind or for it alone.
//! Why: a result that is clipped anyway needs no codes beyond the bounds; a concatenation puts codes side by side; and some
//! targets add only what is on one grid.
//! Preconditions: configs, one grid for each; configs of other types stay on their own.
//! Effect: `output` gives the operands the grid of the result: a `relu` or `clip` in the table's `passes.activation`, behind
//! any op that narrows a sum for it alone, so has its clamp in that op. `large` gives them one that covers all of them, which is also
//! the result's where the op moves codes, and so does `share`. What is compared has such a grid for the comparison alone. `input` gives the results the
//! grid of the first operand, as a passive op has it. `none` leaves each its own; where the op moves codes, its operands are
//! requantized to the grid of the result. Whether a producer then makes its result on the aligned grid is for
//! [`super::simplify`] to say.

use crate::annotate::analyses::{Binding, binding};
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, PassContext};
use strait_core::ConfigId;
use strait_target::spec::Alignment;

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    for &id in &context.scope.nodes {
        let Some(node) = context.graph.node(id) else { continue };
        let Binding::Aligned { to, moves } = binding(context.graph, context.how, id) else {
            continue;
        };
        let operands = draft.activations(id, node.inputs.len());
        let results = draft.results(id, node.outputs.len());
        align(draft, to, moves, &operands, &results)?;
    }
    Ok(())
}

fn align(
    draft: &mut Draft,
    to: Alignment,
    moves: bool,
    operands: &[ConfigId],
    results: &[ConfigId],
) -> Result<(), AnnotateError> {
    let (Some(&first), result) = (operands.first(), results.first().copied()) else {
        return Ok(());
    };
    let bind = |draft: &mut Draft, id, to| if moves { draft.bind(id, to) } else { draft.join(id, to) };
    for &operand in operands.iter().filter(|_| operands.len() > 1) {
        draft.mark(operand, |at| at.part = true);
    }
    match (to, result) {
        (Alignment::Input, _) => {
            // The first one decides for all of them.
            draft.mark(first, |at| at.part = false);
            for &other in results.iter().chain(&operands[1..]).filter(|_| moves) {
                bind(draft, other, first)?;
            }
            for &result in results {
                bind(draft, result, first)?;
            }
        }
        (Alignment::None | Alignment::Output, Some(result)) => {
            for &operand in operands {
                bind(draft, operand, result)?;
                draft.mark(operand, |at| at.apart = to == Alignment::None);
            }
            for &other in results.iter().skip(1).filter(|_| moves) {
                bind(draft, other, result)?;
            }
        }
        (Alignment::Large | Alignment::Share, _) => {
            let root = result.filter(|_| moves).unwrap_or(first);
            for &operand in operands {
                bind(draft, operand, root)?;
                // What is compared has to reach as far as a constant does, for which no other reader of it is to pay.
                let apart = results.is_empty();
                draft.mark(operand, |at| (at.covered, at.apart) = (true, apart));
            }
            for &other in results.iter().filter(|_| moves) {
                bind(draft, other, root)?;
            }
            draft.mark(root, |at| at.anchored = true);
        }
        (Alignment::None | Alignment::Output, None) => {}
    }
    Ok(())
}
