//! Converts integers to floats.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::elem::Elem;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;

op! {
    /// scale · (q − zero point), with the grid of the operand, which has codes or accumulators.
    Dequantize = "dequantize" v 1 {}
}

impl Infer for Dequantize {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::ensure(x.elem.is_integer(), ReasonCode::DequantizeType, || {
            format!("{} has no grid", x.elem)
        })?;
        support::one(Elem::F32, x.shape.clone())
    }
}
