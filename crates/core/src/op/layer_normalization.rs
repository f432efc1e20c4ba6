//! Layer normalization.

use super::prelude::*;

op! {
    /// (x − mean(x)) / √(variance(x) + epsilon) · scale + bias over the axes from `axis` to the last.
    ///
    /// Operands: `x`, `scale` and optionally `bias`. `scale` and `bias` broadcast to `x`. The result has the type of
    /// `x`.
    LayerNormalization = "layer_normalization" v 1: Real, 2 to 3 {
        /// The first normalized axis; a negative one counts from the end.
        axis: i64,
        /// A small number that is added to the variance.
        epsilon: f32,
    }
}

impl OpFacts for LayerNormalization {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::axis(self.axis, x.shape.len())?;
        for operand in operands.iter().skip(1).flatten() {
            support::ensure(
                support::broadcasts_to(&operand.shape, &x.shape)?,
                ReasonCode::LayerNormalizationShape,
                || format!("{:?} does not broadcast to x", operand.shape),
            )?;
        }
        support::same(operands)
    }
}
