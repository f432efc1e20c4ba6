use super::{Affine, Arithmetic, Doubling, Fields, Form, FormError, Roundings, Scalars, Shift, at, check::in_range};
use crate::{IntType, Per, Rounding};
use serde::{Deserialize, Serialize};

/// `sat(d(h(x * 2^e⁺ * multiplier / 2^31) / 2^e⁻) + zp)` with `e⁺ = max(exponent, 0)` and `e⁻ = max(-exponent, 0)`. `h`
/// rounds to the nearest with ties up, and `d` rounds to the nearest with ties away from zero. With a single rounding,
/// the form is `sat(h(x * multiplier / 2^(31 - exponent)) + zp)`.
///
/// The two roundings are gemmlowp's saturating rounding doubling high multiply and its rounding right shift. LiteRT
/// computes CONV_2D, DEPTHWISE_CONV_2D, MUL and ADD on int8 in this way. A LiteRT that is built for a single rounding
/// uses the second formula. LiteRT computes FULLY_CONNECTED with an `f64` factor instead ([`Float64`](super::Float64)).
/// If the exponent is not negative, both formulas give the same results wherever both are defined.
///
/// Domain: with two roundings, the number after the left shift must fit into `i32`. With one or two roundings, the
/// result must fit into `i32` before and after the zero point is added. For other accumulators, the runtimes wrap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gemmlowp {
    /// The mantissa with 31 fractional bits, not negative.
    pub multiplier: Per<i32>,
    /// The factor is `multiplier * 2^(exponent - 31)`. The exponent is in -31 ..= 30. If it is positive, it shifts to
    /// the left.
    pub exponent: Per<i8>,
    /// The zero point of the output.
    pub zp: i32,
    /// The number of roundings. The default is two.
    #[serde(default = "Roundings::two", skip_serializing_if = "Roundings::are_two")]
    pub roundings: Roundings,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl Form for Gemmlowp {
    fn out(&self) -> IntType {
        self.out
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default()
            .multiplied("multiplier", &self.multiplier)
            .shifted("exponent", Shift::Left(&self.exponent))
            .zero(self.zp)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.multiplier.select(channels)?;
        self.exponent.select(channels)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        let (factor, addend, zero_point) = (at("multiplier", &self.multiplier, channel)?, 0, self.zp);
        let exponent = at("exponent", &self.exponent, channel)?;
        in_range("exponent", channel, exponent.into(), -31..=30)?;
        let left = exponent.max(0);
        // The shift is in 1 ..= 62.
        let shift = (31 - exponent).unsigned_abs();
        let arithmetic = match self.roundings {
            Roundings::Two if exponent < 0 => Arithmetic::Doubling(Doubling {
                factor,
                addend,
                shift,
                zero_point,
            }),
            // Without a right shift there is only the first rounding: h(x * 2^e * m / 2^31).
            _ => Arithmetic::Affine(Affine {
                factor,
                addend,
                shift,
                rounding: Rounding::HalfUp,
                zero_point,
            }),
        };
        let inputs = match self.roundings {
            Roundings::One => (i32::MIN, i32::MAX),
            Roundings::Two => (i32::MIN >> left, i32::MAX >> left),
        };
        Ok(Scalars::from(arithmetic).inputs(inputs).results_in_i32(zero_point))
    }
}
