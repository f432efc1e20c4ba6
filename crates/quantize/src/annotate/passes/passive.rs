//! **Passive parameters.** What: the grid of a bias follows from those of operand and weights, s_x·s_w.
//! Why: it is added to their products as it is.
//! Preconditions: configs of operand, weights and bias.
//! Effect: the bias is mastered by the product, a derivation that is computed whenever it is read. The bounds of a clip and
//! the number that a pad puts in are attributes here and no operands: lowering takes their codes on the grid of the result,
//! so that they follow it as well.

use crate::annotate::AnnotateError;
use crate::annotate::draft::{Draft, Site};
use crate::annotate::roles::Role;
use strait_core::{Derivation, Move, Port};

pub(super) fn run(_: &Site<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    for config in draft.fresh.clone() {
        let Some(bound) = draft.bound.get(config.index()).copied() else {
            continue;
        };
        if bound.role != Role::Bias {
            continue;
        }
        let operand = |index| draft.table.id(bound.node, Port::Operand(index));
        if let (Some(x), Some(weight)) = (operand(0), operand(1)) {
            draft.transition(config, Move::MasteredBy(Derivation::Product(x, weight)))?;
        }
    }
    Ok(())
}
