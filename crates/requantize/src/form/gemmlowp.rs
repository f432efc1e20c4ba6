use super::{Arithmetic, Doubling, Form, FormError, Scalars, at};
use crate::{IntType, Per};
use serde::{Deserialize, Serialize};

/// `sat(d(h(x * 2^e⁺ * multiplier / 2^31) / 2^e⁻) + zp)` with `e⁺ = max(exponent, 0)`, `e⁻ = max(-exponent, 0)`, `h` to
/// the nearest with ties up, `d` to the nearest with ties away from zero.
///
/// This is gemmlowp's saturating rounding doubling high multiply followed by its rounding right shift: LiteRT's
/// CONV_2D, DEPTHWISE_CONV_2D, MUL and ADD on int8, and TOSA's double rounding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gemmlowp {
    /// Mantissa with 31 fractional bits, not negative.
    pub multiplier: Per<i32>,
    /// The factor is `multiplier * 2^(exponent - 31)`; -31 ..= 30, to the left where it is positive.
    pub exponent: Per<i8>,
    /// Zero point of the output.
    pub zp: i32,
    /// What the result saturates to.
    pub out: IntType,
}

impl Form for Gemmlowp {
    fn out(&self) -> IntType {
        self.out
    }

    fn lengths(&self) -> Vec<(&'static str, Option<usize>)> {
        vec![
            ("multiplier", self.multiplier.channels()),
            ("exponent", self.exponent.channels()),
        ]
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        let exponent = at("exponent", &self.exponent, channel)?;
        Ok(Arithmetic::Doubling(Doubling {
            multiplier: at("multiplier", &self.multiplier, channel)?,
            left_shift: exponent.max(0).unsigned_abs(),
            right_shift: exponent.min(0).unsigned_abs(),
            zero_point: self.zp,
        })
        .into())
    }
}
