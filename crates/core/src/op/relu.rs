//! Rectified linear unit.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// max(x, 0) on floats; on integers it is a `clamp`.
    Relu = "relu" v 1 {}
}

impl Infer for Relu {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }
}
