//! a − b, elementwise.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;

op! {
    /// `a` − `b`. On integers the same as for `add`.
    ///
    /// Operands broadcast as in NumPy.
    Sub = "sub" v 1 {}
}

impl Infer for Sub {
    const ARITY: (usize, usize) = (2, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, support::summed)
    }
}
