//! Softmax over one axis.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// exp(x − max) / Σ exp(x − max) along one axis.
    Softmax = "softmax" v 1 {
        /// The axis; a negative one counts from the end.
        axis: i64,
    }
}

impl Infer for Softmax {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::axis(self.axis, support::operand(operands, 0)?.shape.len())?;
        support::same(operands)
    }
}
