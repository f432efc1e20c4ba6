//! a to the power of b, elementwise.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// `a` to the power of `b`, on floats only.
    ///
    /// Operands broadcast as in NumPy.
    Pow = "pow" v 1 {}
}

impl Infer for Pow {
    const ARITY: (usize, usize) = (2, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, |elem| elem)
    }
}
