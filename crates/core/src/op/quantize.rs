//! Float to integer.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::elem::Elem;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use strait_requantize::{Rounding, quantize::ZeroPoint};

op! {
    /// sat(round(x / scale) + zero point), with scale and zero point of the result's grid; with the zero point inside of the
    /// rounding, sat(round(x / scale + zero point)).
    Quantize = "quantize" v 2 {
        /// The integer type of the result.
        to: Elem,
        /// Rounding of the quotient.
        rounding: Rounding,
        /// Multiply by the f32 reciprocal of the scale instead of dividing; they differ at ties.
        reciprocal: bool,
        /// Where the zero point is added. Behind the rounding, if nothing is said.
        zero_point: ZeroPoint,
    }
}

impl Infer for Quantize {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::ensure(
            x.elem.is_float() && self.to.int_type().is_some(),
            ReasonCode::QuantizeType,
            || {
                format!(
                    "from {} to {}; from a float to a type of codes is needed",
                    x.elem, self.to
                )
            },
        )?;
        support::one(self.to, x.shape.clone())
    }
}
