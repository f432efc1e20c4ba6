//! a / b, elementwise.

use super::prelude::*;

op! {
    /// `a` / `b`, on floats only.
    ///
    /// Operands broadcast as in NumPy.
    Div = "div" v 1: Real, 2 {}
}

impl OpFacts for Div {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, |elem| elem)
    }
}
