//! a + b, elementwise.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// `a` + `b`. Integer operands are on the same grid, with zero points already subtracted. The sum is i32, or i64 if
    /// the operands are.
    ///
    /// Operands broadcast as in NumPy.
    Add = "add" v 1 {}
}

impl Infer for Add {
    const ARITY: (usize, usize) = (2, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, support::summed)
    }
}
