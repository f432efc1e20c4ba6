//! Converts the element type.

use super::prelude::*;

op! {
    /// The same numbers in another element type. Between integers, the low bits are kept. Floats are truncated towards
    /// zero and saturate in integer types; NaN becomes 0. As a boolean, any number other than 0 is true.
    Cast = "cast" v 2: Converts, 1 {
        /// The element type of the result.
        to: Elem,
    }
}

impl OpFacts for Cast {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::one(self.to, support::operand(operands, 0)?.shape.clone())
    }
}
