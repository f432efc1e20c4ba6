//! a − b, elementwise.

use super::prelude::*;

op! {
    /// `a` − `b`. Integer operands are on the same grid, and their zero points have already been subtracted. The
    /// difference is i64 if the operands are i64, and i32 otherwise.
    ///
    /// Operands broadcast as in NumPy.
    Sub = "sub" v 1: Accumulates, 2 {}
}

impl OpFacts for Sub {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, support::summed)
    }
}
