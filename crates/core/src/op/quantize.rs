//! Converts floats to integers.

use super::prelude::*;
use strait_requantize::Rounding;
use strait_requantize::quantize::ZeroPoint;

op! {
    /// saturate(round(x / scale) + zero point), with the grid of the result. If `zero_point` says that the zero point
    /// is added before rounding, it is saturate(round(x / scale + zero point)).
    Quantize = "quantize" v 2: Boundary, 1 {
        /// The integer type of the result.
        to: Elem,
        /// How the quotient is rounded.
        rounding: Rounding,
        /// True to multiply by the f32 reciprocal of the scale instead of dividing by the scale. If x / scale is
        /// halfway between two integers, the product and the quotient can be rounded to different integers.
        reciprocal: bool,
        /// Whether the zero point is added before or after rounding. The default is after rounding.
        zero_point: ZeroPoint,
    }
}

impl OpFacts for Quantize {
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
