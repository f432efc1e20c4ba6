use super::{Arithmetic, DoubleProduct, Fields, Form, FormError, Scalars, at, check::in_range};
use crate::{IntType, Per, scales::fixed_point::ldexp};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// `sat(half_away(f64(x * multiplier) * 2^(exponent - 53)) + zp)`: the product of an integer and an `f64` factor is
/// rounded to `f64`, and then to an integer. The factor is given by its significand and exponent.
///
/// This is how LiteRT computes FULLY_CONNECTED for int8 and int16 activations.
///
/// Domain: 54-bit accumulators, which `f64` holds exactly. The result must fit into `i32` before and after the zero
/// point is added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Float64 {
    /// The significand of the factor as an integer of 53 bits, 2^52 ..= 2^53 - 1.
    pub multiplier: Per<i64>,
    /// The factor is `multiplier * 2^(exponent - 53)`. The exponent is in -128 ..= 31.
    pub exponent: Per<i8>,
    /// The zero point of the output.
    pub zp: i32,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl Float64 {
    /// The multipliers that are supported.
    pub const MULTIPLIERS: RangeInclusive<i64> = 1 << 52..=(1 << 53) - 1;
    /// The exponents that are supported.
    pub const EXPONENTS: RangeInclusive<i8> = i8::MIN..=31;
}

impl Form for Float64 {
    fn out(&self) -> IntType {
        self.out
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default()
            .per("multiplier", &self.multiplier)
            .per("exponent", &self.exponent)
            .zero(self.zp)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.multiplier.select(channels)?;
        self.exponent.select(channels)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        let multiplier = at("multiplier", &self.multiplier, channel)?;
        let exponent = at("exponent", &self.exponent, channel)?;
        in_range("multiplier", channel, multiplier, Self::MULTIPLIERS)?;
        let (least, most) = Self::EXPONENTS.into_inner();
        in_range("exponent", channel, exponent.into(), least.into()..=most.into())?;
        let arithmetic = Arithmetic::Double(DoubleProduct {
            // The scale is exact: the multiplier has 53 bits, and the exponent is far from the limits of f64.
            scale: ldexp(multiplier as f64, i32::from(exponent) - 53),
            zero_point: self.zp,
        });
        Ok(Scalars::from(arithmetic).results_in_i32(self.zp))
    }
}
