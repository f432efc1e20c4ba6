//! Clamps codes.

use super::prelude::*;

op! {
    /// min(max(x, min), max) on integers.
    Clamp = "clamp" v 1: Integer, 1 {
        /// The lower bound, a code.
        min: i32,
        /// The upper bound, a code.
        max: i32,
    }
}

impl OpFacts for Clamp {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::ensure(
            x.elem.int_type().is_some() && self.min <= self.max,
            ReasonCode::Clamp,
            || format!("{} cannot be clamped to [{}, {}]", x.elem, self.min, self.max),
        )?;
        support::same(operands)
    }
}
