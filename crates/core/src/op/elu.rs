//! Exponential linear unit.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// x where x ≥ 0, and alpha·(exp(x) − 1) elsewhere.
    Elu = "elu" v 1 {
        /// The negated limit of the function for x → −∞.
        alpha: f32,
    }
}

impl Infer for Elu {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }
}
