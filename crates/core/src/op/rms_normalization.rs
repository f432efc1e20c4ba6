//! Normalization by the root mean square.

use super::prelude::*;

op! {
    /// x / √(mean(x²) + epsilon) · scale over the axes from `axis` to the last.
    ///
    /// Operands: `x` and `scale`, which broadcasts to `x`. The result has the type of `x`.
    RmsNormalization = "rms_normalization" v 1: Real, 2 {
        /// The first normalized axis; a negative one counts from the end.
        axis: i64,
        /// A small number that is added to the mean square.
        epsilon: f32,
    }
}

impl OpFacts for RmsNormalization {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, scale) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        support::axis(self.axis, x.shape.len())?;
        support::ensure(
            support::broadcasts_to(&scale.shape, &x.shape)?,
            ReasonCode::LayerNormalizationShape,
            || format!("{:?} does not broadcast to x", scale.shape),
        )?;
        support::same(operands)
    }
}
