use super::{
    Affine, Arithmetic, Doubling, Fields, Form, FormError, FormKind, Roundings, Scalars, Shift, at, check::in_range,
    sixteen_by_eight::I48,
};
use crate::{IntType, Per, Rounding, words::words};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// `sat(((v * multiplier + 2^(shift-1) + d) >> shift) + output_zp)` with `v = x - input_zp`. With one rounding, or with
/// a shift of up to 31, `d` is zero. With two roundings and a larger shift, `d` is `2^30` for `v >= 0` and `-2^30` for
/// `v < 0`.
///
/// This is RESCALE of TOSA 1.0, with `SINGLE_ROUND` or `DOUBLE_ROUND`. `check` refuses parameters that TOSA calls an
/// error of the graph (ERROR_IF). If TOSA does not define the result for an accumulator (REQUIRE), the accumulator is
/// outside of the form's domain.
///
/// Domain: all `x` of the input type. With `scale32`, `v` must also satisfy `-2^(shift-1) <= v < 2^(shift-1)`. The
/// result must fit into `i32` before and after the output's zero point is added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TosaRescale {
    /// The multiplier, not negative. Up to 2^31 - 1 with `scale32`, otherwise up to 2^15 - 1.
    pub multiplier: Per<i32>,
    /// The shift, 2 ..= 62.
    pub shift: Per<u8>,
    /// True for a 32-bit multiplier, which supports inputs of up to 32 bits. False for a 16-bit multiplier, which
    /// supports inputs of up to 48 bits.
    pub scale32: bool,
    /// The number of roundings. Two are possible only with `scale32`.
    pub roundings: Roundings,
    /// The type of the input.
    pub input: TosaInput,
    /// The zero point of the input. For eight bits it can be any value of the type, for `u16` it is 0 or 32768, and for
    /// other types it is 0.
    pub input_zp: i32,
    /// The zero point of the output. It is 0 if the output has more than eight bits.
    pub output_zp: i32,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

words! {
    /// The types that TOSA can rescale.
    TosaInput {
        /// 8 bits, signed.
        I8 = "i8",
        /// 8 bits, with `input_unsigned`.
        U8 = "u8",
        /// 16 bits, signed.
        I16 = "i16",
        /// 16 bits, with `input_unsigned`.
        U16 = "u16",
        /// 32 bits, signed.
        I32 = "i32",
        /// 48 bits, signed.
        I48 = "i48",
    }
}

impl TosaInput {
    /// The smallest and the largest value.
    pub const fn range(self) -> (i64, i64) {
        match self {
            TosaInput::I8 => (-128, 127),
            TosaInput::U8 => (0, 255),
            TosaInput::I16 => (-32_768, 32_767),
            TosaInput::U16 => (0, 65_535),
            TosaInput::I32 => (-(1 << 31), (1 << 31) - 1),
            TosaInput::I48 => I48,
        }
    }
}

impl TosaRescale {
    /// The shifts that TOSA allows.
    pub const SHIFTS: RangeInclusive<u8> = 2..=62;
}

/// The zero points that unsigned 16-bit codes may have.
const WORD_ZEROS: [i32; 2] = [0, 32_768];

impl Form for TosaRescale {
    fn out(&self) -> IntType {
        self.out
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default()
            .multiplied("multiplier", &self.multiplier)
            .shifted("shift", Shift::Right(&self.shift))
            .zero(self.output_zp)
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.multiplier.select(channels)?;
        self.shift.select(channels)
    }

    fn rules(&self) -> Result<(), FormError> {
        let (low, high) = self.input.range();
        let input_zp = match self.input {
            TosaInput::I8 | TosaInput::U8 => (low..=high).contains(&self.input_zp.into()),
            TosaInput::U16 => WORD_ZEROS.contains(&self.input_zp),
            TosaInput::I16 | TosaInput::I32 | TosaInput::I48 => self.input_zp == 0,
        };
        let output_zp = match self.out {
            IntType::I8 | IntType::U8 => self.out.range().contains(&self.output_zp),
            IntType::U16 => WORD_ZEROS.contains(&self.output_zp),
            IntType::I16 | IntType::I32 | IntType::I4 | IntType::U4 => self.output_zp == 0,
        };
        let unsigned = matches!(self.input, TosaInput::U8 | TosaInput::U16);
        let unsigned_out = matches!(self.out, IntType::U8 | IntType::U16);
        let wide = matches!(self.input, TosaInput::I32 | TosaInput::I48);
        let rules = [
            (self.out.bits() != 4, "there is no output of 4 bits"),
            (input_zp, "the input's type has no such zero point"),
            (output_zp, "the output's type has no such zero point"),
            (
                !(self.scale32 && self.input == TosaInput::I48),
                "scale32 takes no 48 bits",
            ),
            (self.scale32 || self.roundings == Roundings::One, "scale16 rounds once"),
            (!(unsigned && unsigned_out), "an unsigned input and an unsigned output"),
            (
                !(unsigned && self.out == IntType::I32),
                "an unsigned input and an output of 32 bits",
            ),
            (
                !(wide && unsigned_out),
                "an input of 32 or 48 bits and an unsigned output",
            ),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, rule)) => Err(FormError::Together {
                kind: FormKind::TosaRescale,
                rule,
            }),
            None => Ok(()),
        }
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        let factor: i32 = at("multiplier", &self.multiplier, channel)?;
        let most = if self.scale32 { i32::MAX } else { 0x7FFF };
        in_range("multiplier", channel, factor.into(), 0..=most.into())?;
        let shift = at("shift", &self.shift, channel)?;
        let (least, most) = Self::SHIFTS.into_inner();
        in_range("shift", channel, shift.into(), least.into()..=most.into())?;
        // (x - z) * m = x * m - z * m. The zero point has at most 16 bits.
        let addend = -i64::from(self.input_zp) * i64::from(factor);
        let zero_point = self.output_zp;
        // TOSA's double rounding depends on the sign of v, and gemmlowp's on the sign of the product v * m, with the
        // multiplier m >= 0. Both signs are the same, except for m = 0, where both give 0. So both compute the same
        // results.
        let arithmetic = if self.roundings == Roundings::Two && shift > 31 {
            Arithmetic::Doubling(Doubling {
                factor,
                addend,
                shift,
                zero_point,
            })
        } else {
            Arithmetic::Affine(Affine {
                factor,
                addend,
                shift,
                rounding: Rounding::HalfUp,
                zero_point,
            })
        };
        let (mut low, mut high) = self.input.range();
        if self.scale32 {
            let (half, zero) = (1i64 << (shift - 1), i64::from(self.input_zp));
            (low, high) = (low.max(zero - half), high.min(zero + half - 1));
        }
        Ok(Scalars::from(arithmetic)
            .wide_inputs((low, high))
            .results_in_i32(zero_point))
    }
}
