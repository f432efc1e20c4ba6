//! a + b, elementwise.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// `a` + `b`. Integers are on a common grid and already offset; the sum is carried in i32, or in i64 where the
    /// operands are.
    ///
    /// Operands broadcast as in numpy.
    Add = "add" v 1 {}
}

impl Infer for Add {
    const ARITY: (usize, usize) = (2, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, support::summed)
    }
}
