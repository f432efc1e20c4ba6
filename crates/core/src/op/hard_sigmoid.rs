//! Piecewise linear sigmoid.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// max(0, min(1, alpha·x + beta)).
    HardSigmoid = "hard_sigmoid" v 1 {
        /// The slope of the linear part.
        alpha: f32,
        /// The value of the function at zero.
        beta: f32,
    }
}

impl Infer for HardSigmoid {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }
}
