//! Rectified linear unit.

use super::prelude::*;

op! {
    /// max(x, 0) on floats. For codes, lowering replaces the op by a `clamp`.
    Relu = "relu" v 1: Function, 1 {}
}

impl OpFacts for Relu {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }

    fn real(&self) -> Option<Real> {
        Some(Real::Clip {
            low: 0.0,
            high: f32::INFINITY,
        })
    }
}
