//! a / b, elementwise.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// `a` / `b`, on floats only.
    ///
    /// Operands broadcast as in NumPy.
    Div = "div" v 1 {}
}

impl Infer for Div {
    const ARITY: (usize, usize) = (2, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, |elem| elem)
    }
}
