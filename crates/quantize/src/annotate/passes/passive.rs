//! **Passive parameters.** What: the grid of a bias follows from those of operand and weights, s_x·s_w, and so does that of
//! a product that stays a sum.
//! Why: the one is added to the products as it is, the other is these.
//! Preconditions: configs of operand, weights and bias.
//! Effect: bias and sum are mastered by the product, a derivation that is computed whenever it is read. The bounds of a clip and
//! the number that a pad puts in are attributes here and no operands: lowering takes their codes on the grid of the result,
//! so that they follow it as well.

use crate::annotate::analyses::Role;
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, PassContext};
use strait_core::{ConfigId, Derivation, Move, NodeId, Port};

pub(crate) fn run(_: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    for config in draft.fresh.clone() {
        let Some(bound) = draft.bound.get(config.index()).copied() else {
            continue;
        };
        if matches!(bound.role, Role::Bias | Role::Accumulator) {
            rest_on_product(draft, config, bound.node)?;
        }
    }
    Ok(())
}

/// Lets a config follow from those of the first two operands of its node.
pub(crate) fn rest_on_product(draft: &mut Draft, config: ConfigId, node: NodeId) -> Result<(), AnnotateError> {
    let operand = |index| draft.table.id(node, Port::Operand(index));
    match (operand(0), operand(1)) {
        (Some(x), Some(weight)) => draft.transition(config, Move::MasteredBy(Derivation::Product(x, weight))),
        _ => Ok(()),
    }
}
