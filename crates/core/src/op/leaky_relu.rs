//! Leaky rectified linear unit.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// x where x ≥ 0, and alpha·x elsewhere.
    LeakyRelu = "leaky_relu" v 1 {
        /// The slope of the function below zero.
        alpha: f32,
    }
}

impl Infer for LeakyRelu {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }
}
