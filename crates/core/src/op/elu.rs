//! Exponential linear unit.

use super::prelude::*;

op! {
    /// x where x ≥ 0, and alpha·(exp(x) − 1) elsewhere.
    Elu = "elu" v 1: Function, 1 {
        /// The negated limit of the function as x goes to −∞.
        alpha: f32,
    }
}

impl OpFacts for Elu {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }

    fn real(&self) -> Option<Real> {
        Some(Real::Elu { alpha: self.alpha })
    }
}
