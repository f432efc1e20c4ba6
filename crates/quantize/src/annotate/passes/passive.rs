//! **Passive parameters.**
//! - What: derives the grid of a bias from the grids of operand and weights: its scale is s_x·s_w. If the result of a
//!   node that multiplies stays an accumulator, the grid of the accumulator is derived in the same way.
//! - Why: the accumulator is the sum of the products of operand and weights, and the bias is added to it without
//!   conversion.
//! - Preconditions: operand, weights and bias have configs.
//! - Effect: the configs of bias and accumulator are derived from those of operand and weights. Their grid is computed
//!   whenever it is read. In this compiler, the bounds of a clip and the number that a pad inserts are attributes and
//!   not operands. Lowering turns them into codes on the grid of the result, so they follow that grid too.

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

/// Derives the grid of a config from the grids of the first two operands of its node.
pub(crate) fn rest_on_product(draft: &mut Draft, config: ConfigId, node: NodeId) -> Result<(), AnnotateError> {
    let operand = |index| draft.table.id(node, Port::Operand(index));
    match (operand(0), operand(1)) {
        (Some(x), Some(weight)) => draft.transition(config, Move::MasteredBy(Derivation::Product(x, weight))),
        _ => Ok(()),
    }
}
