//! Softmax over one axis.

use super::prelude::*;

op! {
    /// exp(x − max) / Σ exp(x − max) along one axis.
    Softmax = "softmax" v 1: Real, 1 {
        /// The axis; a negative one counts from the end.
        axis: i64,
    }
}

impl OpFacts for Softmax {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::axis(self.axis, support::operand(operands, 0)?.shape.len())?;
        support::same(operands)
    }
}
