//! Converts the element type.

use super::prelude::*;

op! {
    /// Converts the numbers to another element type. From one integer type to another, the low bits are kept. From a
    /// float to an integer type, numbers are truncated towards zero and saturate, and NaN becomes 0. To booleans, any
    /// number other than 0 becomes true.
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
