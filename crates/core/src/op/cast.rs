//! Converts the element type.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::elem::Elem;
use crate::reason::Reason;

op! {
    /// The same numbers in another element type. Between integers, the low bits are kept. Floats are truncated towards
    /// zero and saturate in integer types; NaN becomes 0. As a boolean, any number other than 0 is true.
    Cast = "cast" v 2 {
        /// The element type of the result.
        to: Elem,
    }
}

impl Infer for Cast {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::one(self.to, support::operand(operands, 0)?.shape.clone())
    }
}
