//! Piecewise linear sigmoid.

use super::prelude::*;

op! {
    /// max(0, min(1, alpha·x + beta)).
    HardSigmoid = "hard_sigmoid" v 1: Function, 1 {
        /// The slope of the linear part.
        alpha: f32,
        /// The value of the function at zero.
        beta: f32,
    }
}

impl OpFacts for HardSigmoid {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }

    fn real(&self) -> Option<Real> {
        Some(Real::HardSigmoid {
            alpha: self.alpha,
            beta: self.beta,
        })
    }
}
