//! Rounding to a grid, without codes.

use super::{Infer, Operands, Results, support};
use crate::attribute::{Attribute, Field, op};
use crate::elem::Elem;
use crate::quant::Scheme;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::text::{scheme_from_text, scheme_text};

op! {
    /// The real numbers that are left of those of the operand once they were quantized and dequantized. The grid is that of
    /// the result; of a dynamic policy it is made anew in each run, from the least and the largest number of each part. A part
    /// that no grid covers stays as it is.
    RoundTo = "round_to" v 1 {
        /// Policy, type, range and rounding, as configs have them.
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
