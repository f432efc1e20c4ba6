//! The operand itself.

use super::prelude::*;

op! {
    /// The operand itself, as a value with another name.
    Identity = "identity" v 1: Rearranges, 1 {}
}

impl OpFacts for Identity {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        support::same(operands)
    }
}
