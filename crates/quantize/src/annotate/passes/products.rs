//! **Scales of products.** What: a look at s_a·s_b of each node that multiplies codes.
//! Why: that is the grid of its sums, or of the biases behind the gains of a layer normalization, and both factors may be scales that their product is not: below 2^-126 or infinite.
//! Preconditions: every operand has its grid.
//! Effect: such a node is refused. Weights whose grids are made here are never the reason, since their scales have been
//! raised or refused for it; those of activations and of given grids may be.

use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, PassContext};
use strait_core::{Port, Reason, ReasonCode};
use strait_target::spec::Recipe;

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    // A refusal in front of this pass may have kept it from nodes of an earlier scope.
    for id in draft.unchecked.clone() {
        let recipe = context
            .graph
            .node(id)
            .and_then(|node| context.how.roles().recipe(id, node));
        let multiplies = matches!(
            recipe,
            Some((
                _,
                Recipe::MultiplyAccumulate { .. }
                    | Recipe::MatmulAccumulate
                    | Recipe::Multiply
                    | Recipe::LayerNormalization { .. }
            ))
        );
        if !multiplies {
            continue;
        }
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
