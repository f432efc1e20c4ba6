//! The positions of elements that are not zero.

use super::prelude::*;

op! {
    /// The positions (i64) of all elements that are not zero, in row-major order. The result has a row for each axis of
    /// the operand, and a column for each element that is not zero.
    NonZero = "non_zero" v 1: Real, 1 {}
}

impl OpFacts for NonZero {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let rank = support::operand(operands, 0)?.shape.len() as u64;
        support::one(Elem::I64, smallvec![Dim::Fixed(rank), Dim::OPEN])
    }
}
