use super::{Affine, Arithmetic, Fields, Form, FormError, Scalars, Shift, at, check::in_range};
use crate::{IntType, Per, Rounding};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// `sat(half_up(x * m16 / 2^(15 - exponent)) + zp)`. `m16` is the multiplier reduced to its upper 16 bits:
/// `m16 = min((multiplier + 2^15) >> 16, 0x7FFF)`.
///
/// This is how LiteRT requantizes wide accumulators, which come from int16 activations and int8 weights (CONV_2D,
/// DEPTHWISE_CONV_2D).
///
/// Domain: 48-bit accumulators. The result must fit into `i32` before and after the zero point is added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SixteenByEight {
    /// The mantissa with 31 fractional bits, not negative. This is the multiplier that is derived from the scales in
    /// the file, before it is reduced to 16 bits.
    pub multiplier: Per<i32>,
    /// The factor is `multiplier * 2^(exponent - 31)`. The exponent is in -31 ..= 7. If it is positive, it shifts to
    /// the left.
    pub exponent: Per<i8>,
    /// The zero point of the output.
    pub zp: i32,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

/// The range of 48-bit accumulators.
pub(super) const I48: (i64, i64) = (-(1 << 47), (1 << 47) - 1);

impl SixteenByEight {
    /// The exponents that are supported.
    pub const EXPONENTS: RangeInclusive<i8> = -31..=7;

    /// The upper 16 bits of a multiplier, rounded, but at most 2^15 - 1. The multiplier must not be negative.
    pub fn reduced(multiplier: i32) -> i32 {
        if multiplier < 0x7FFF_0000 {
            (multiplier + (1 << 15)) >> 16
        } else {
            0x7FFF
        }
    }
}

impl Form for SixteenByEight {
    fn out(&self) -> IntType {
        self.out
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default()
            // The form supports any multiplier, because it reduces the multiplier itself.
            .per("multiplier", &self.multiplier)
            .shifted("exponent", Shift::Left(&self.exponent))
            .zero(self.zp)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.multiplier.select(channels)?;
        self.exponent.select(channels)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        let multiplier: i32 = at("multiplier", &self.multiplier, channel)?;
        let exponent = at("exponent", &self.exponent, channel)?;
        let (least, most) = Self::EXPONENTS.into_inner();
        in_range("exponent", channel, exponent.into(), least.into()..=most.into())?;
        if multiplier < 0 {
            // This check has to come before the reduction: reducing a multiplier of −1 to 16 bits gives 0, which looks
            // legal.
            return Err(FormError::NegativeFactor {
                channel,
                factor: multiplier,
            });
        }
        let arithmetic = Arithmetic::Affine(Affine {
            factor: Self::reduced(multiplier),
            addend: 0,
            shift: (15 - exponent).unsigned_abs(),
            rounding: Rounding::HalfUp,
            zero_point: self.zp,
        });
        Ok(Scalars::from(arithmetic).wide_inputs(I48).results_in_i32(self.zp))
    }
}
