//! Batch normalization at inference.

use super::prelude::*;

op! {
    /// (x − mean) / √(variance + epsilon) · scale + bias, per channel (axis 1).
    ///
    /// Operands: `x` `[N, C, …]`, and `scale`, `bias`, `mean` and `variance`, each `[C]`. The result has the type of
    /// `x`.
    BatchNormalization = "batch_normalization" v 1: Real, 5 {
        /// A small number that is added to the variance.
        epsilon: f32,
    }
}

impl OpFacts for BatchNormalization {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::ensure(x.shape.len() >= 2, ReasonCode::BatchNormalizationRank, || {
            format!("x has rank {}, at least 2 is needed", x.shape.len())
        })?;
        for (index, operand) in operands.iter().enumerate().skip(1) {
            let fits = operand.is_some_and(|o| o.shape.as_slice() == [x.shape[1]]);
            support::ensure(fits, ReasonCode::BatchNormalizationChannels, || {
                format!(
                    "operand {index} must have the shape of the channel axis, [{}]",
                    x.shape[1]
                )
            })?;
        }
        support::same(operands)
    }
}
