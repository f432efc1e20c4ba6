//! **Alignment.**
//! - What: puts operands and results of one node on the same grid, as [`Alignment`] says for this kind of node or for
//!   this node.
//! - Why: a result that is clipped anyway needs no codes beyond the bounds; a concatenation puts codes side by side;
//!   and some targets can only add codes of the same grid.
//! - Preconditions: every operand and result has a config with a grid of its own. Configs of other types stay as they
//!   are.
//! - Effect: `output` gives the operands the grid of the result. If the table lists a `relu` or `clip` in
//!   `passes.activation`, and the producer of its operand requantizes an accumulator only for this `relu` or `clip`,
//!   the producer can then include the clamp. `large` and `share` give the operands a grid that covers all of them. If
//!   the op moves codes, its result gets this grid too. Operands that are compared get such a grid only for the
//!   comparison. `input` gives the results the grid of the first operand, as for a passive op. `none` leaves each
//!   operand and result its own grid; if the op moves codes, the operands are requantized to the result's grid.
//!   [`super::simplify`] decides whether a producer then makes its result on the aligned grid.

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
            // The first operand determines the grid of all operands and results.
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
                // The grid of compared operands has to cover constants too. Other readers of such an operand may use
                // another grid.
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
