//! Rounds floats to a grid without making codes.

use super::{Infer, Operands, Results, support};
use crate::attribute::{Attribute, Field, op};
use crate::elem::Elem;
use crate::quant::Scheme;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::text::{scheme_from_text, scheme_text};

op! {
    /// The numbers that remain after quantizing and dequantizing the operand. The grid is that of the result. With a
    /// dynamic policy it is computed anew in each run, from the smallest and the largest number of each part. A part
    /// that no grid can cover does not change.
    RoundTo = "round_to" v 1 {
        /// Policy, type, range and rounding, as in quantization configs.
        scheme: Scheme,
    }
}

impl Infer for RoundTo {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::ensure(x.elem == Elem::F32, ReasonCode::QuantizeType, || {
            format!("from {}; f32 is needed", x.elem)
        })?;
        support::same(operands)
    }
}

impl Field for Scheme {
    fn to_attribute(&self) -> Attribute {
        Attribute::Text(scheme_text(self))
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Text(text) => scheme_from_text(text),
            _ => None,
        }
    }
    fn allowed() -> String {
        "a scheme is expected, as configs have them".into()
    }
}
