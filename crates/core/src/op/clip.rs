//! Clips floats to an interval.

use super::prelude::*;

op! {
    /// min(max(x, min), max) on floats. For codes, lowering replaces the op by a `clamp`. An infinite bound has no
    /// effect.
    Clip = "clip" v 1: Function, 1 {
        /// The lower bound; −∞ for none.
        min: f32,
        /// The upper bound; +∞ for none.
        max: f32,
    }
}

impl OpFacts for Clip {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }

    fn real(&self) -> Option<Real> {
        Some(Real::Clip {
            low: self.min,
            high: self.max,
        })
    }
}
