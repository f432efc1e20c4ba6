//! The positions of elements that are not zero.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::elem::Elem;
use crate::reason::Reason;
use crate::shape::Dim;
use smallvec::smallvec;

op! {
    /// The positions (i64) of all elements that are not zero, in row-major order. The result has a row for each axis of
    /// the operand, and a column for each such element.
    NonZero = "non_zero" v 1 {}
}

impl Infer for NonZero {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let rank = support::operand(operands, 0)?.shape.len() as u64;
        support::one(Elem::I64, smallvec![Dim::Fixed(rank), Dim::OPEN])
    }
}
