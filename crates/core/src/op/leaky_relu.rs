//! Leaky rectified linear unit.

use super::prelude::*;

op! {
    /// x where x ≥ 0, and alpha·x elsewhere.
    LeakyRelu = "leaky_relu" v 1: Function, 1 {
        /// The slope of the function below zero.
        alpha: f32,
    }
}

impl OpFacts for LeakyRelu {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }

    fn real(&self) -> Option<Real> {
        Some(Real::LeakyRelu { alpha: self.alpha })
    }
}
