//! The operand itself.

use super::prelude::*;

op! {
    /// The operand itself. The result is a value with a name of its own.
    Identity = "identity" v 1: Rearranges, 1 {}
}

impl OpFacts for Identity {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }
}
