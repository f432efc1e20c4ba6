//! a to the power of b, elementwise.

use super::prelude::*;

op! {
    /// `a` to the power of `b`, on floats only.
    ///
    /// Operands broadcast as in NumPy.
    Pow = "pow" v 1: Real, 2 {}
}

impl OpFacts for Pow {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, |elem| elem)
    }
}
