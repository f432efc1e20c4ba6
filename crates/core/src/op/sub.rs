//! a − b, elementwise.

use super::prelude::*;

op! {
    /// `a` − `b`. For integers, the same holds as for `add`.
    ///
    /// Operands broadcast as in NumPy.
    Sub = "sub" v 1: Accumulates, 2 {}
}

impl OpFacts for Sub {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::binary(operands, support::summed)
    }
}
