//! **Scales of products.**
//! - What: checks s_a·s_b for each node that multiplies codes, where s_a and s_b are the scales of its two operands.
//! - Why: s_a·s_b is the scale of the node's accumulators. In a layer normalization, s_a·s_b is the scale of the
//!   biases, which are added to the products of elements and gains. The product of two valid scales may be an invalid
//!   scale: it may be below 2^-126 or infinite.
//! - Preconditions: every operand has its grid.
//! - Effect: a node with an invalid s_a·s_b is refused. Weights whose grids the compiler chooses are never the cause,
//!   because an earlier pass has raised or refused such scales. The cause can be activations or given grids.

use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, PassContext};
use strait_core::{Port, Reason, ReasonCode};
use strait_target::spec::Recipe;

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    // Nodes of an earlier scope may still be unchecked, because a refusal stopped the passes before this one.
    for id in draft.unchecked.clone() {
        let found = context.how.roles().computed(context.graph, id);
        let Some(
            Recipe::MultiplyAccumulate { .. }
            | Recipe::MatmulAccumulate
            | Recipe::Multiply
            | Recipe::LayerNormalization { .. },
        ) = found.map(|(_, recipe)| recipe)
        else {
            continue;
        };
        let [Some(a), Some(b)] = [0, 1].map(|index| draft.table.params_of(id, Port::Operand(index))) else {
            continue;
        };
        let product = a.product(&b, Some(0));
        if product.is_some_and(|product| !product.scale.all(|scale| scale.is_normal())) {
            let text = "the product of its operands' scales is no normal f32";
            draft.refused.push((id, Reason::new(ReasonCode::Range, text)));
        }
    }
    Ok(())
}
