//! Converts integers to floats.

use super::prelude::*;

op! {
    /// scale · (q − zero point), with the grid of the operand. The operand is codes or accumulators.
    Dequantize = "dequantize" v 1: Boundary, 1 {}
}

impl OpFacts for Dequantize {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::ensure(x.elem.is_integer(), ReasonCode::DequantizeType, || {
            format!("{} has no grid", x.elem)
        })?;
        support::one(Elem::F32, x.shape.clone())
    }
}
