use super::super::{Definition, FunctionError, fixed::Factor, in_range};
use crate::{
    IntType, Rounding,
    form::SixteenByEight,
    scales::{ScaleError, positive},
};
use serde::{Deserialize, Serialize};

/// LiteRT's HARD_SWISH on int8 (`litert.hard_swish.int8.v1`): x·min(max(x + 3, 0), 6) / 6 in 16-bit fixed point.
///
/// Let d be (x − z)·2⁷, where z is the operand's zero point, and let a∘b be the product sat₁₆(half_up(a·b / 2¹⁵)).
/// `output`, `shift`, `gate` and `gate_exponent` are parameters.
///
/// - p = d∘output: the operand on the result's grid, before the right shift.
/// - g: the gate (x + 3) / 6 with 15 fractional bits. If `gate_exponent` is positive, d is shifted left by
///   `gate_exponent` − 1, multiplied by `gate` (with ∘), and shifted left by one more, and each shift saturates.
///   Otherwise d is multiplied by `gate` (with ∘) and shifted right by −`gate_exponent`, rounded half away. The result
///   r is turned into g = ⌊(r + 2¹⁵) / 2⌋.
/// - y = sat(half_away(toward_zero(g·p / 2¹⁵) / 2^`shift`) + z'), where z' is the result's zero point.
///
/// Source: `HardSwishPrepare` and the reference kernel of HARD_SWISH in LiteRT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardSwishInt8 {
    /// The zero point of the operand.
    pub input_zp: i32,
    /// The mantissa of f32(s/128) / s' with 15 fractional bits, 2¹⁴ ..= 2¹⁵ − 1.
    pub output: i16,
    /// The right shift after the product with `output`, 0 ..= 15.
    pub shift: u8,
    /// The mantissa of f32(s/128) / (3/32768) with 15 fractional bits, 2¹⁴ ..= 2¹⁵ − 1.
    pub gate: i16,
    /// The exponent that belongs to `gate`, −15 ..= 15.
    pub gate_exponent: i8,
    /// The zero point of the result.
    pub zp: i32,
}

impl HardSwishInt8 {
    pub(super) fn from_scales(
        (input_scale, input_zp): (f32, i32),
        (output_scale, zp): (f32, i32),
    ) -> Result<HardSwishInt8, FunctionError> {
        let definition = Definition::LitertHardSwishInt8;
        let refused = |source: ScaleError| FunctionError::Scale { definition, source };
        positive("input scale", input_scale.into()).map_err(refused)?;
        positive("output scale", output_scale.into()).map_err(refused)?;
        let fine = input_scale * (1.0 / 128.0);
        let ratio = |what: &'static str, factor: f32, above: i32, most: i32| {
            let made = Factor::of(factor.into()).map_err(refused)?;
            let (exponent, ends) = (i32::from(made.exponent), above..=most);
            if made.multiplier > 0 && ends.contains(&exponent) {
                return Ok((SixteenByEight::reduced(made.multiplier) as i16, made.exponent));
            }
            Err(FunctionError::Factor {
                definition,
                what,
                value: factor.into(),
                above: 2f64.powi(above - 1),
                most: 2f64.powi(most),
            })
        };
        let (output, exponent) = ratio("input scale / (128 * output scale)", fine / output_scale, -15, 0)?;
        let (gate, gate_exponent) = ratio("input scale * 32768 / 384", fine / (3.0 / 32768.0), -15, 15)?;
        let made = HardSwishInt8 {
            input_zp,
            output,
            shift: exponent.unsigned_abs(),
            gate,
            gate_exponent,
            zp,
        };
        made.check()?;
        Ok(made)
    }

    pub(super) fn check(&self) -> Result<(), FunctionError> {
        let definition = Definition::LitertHardSwishInt8;
        in_range(definition, "input zero point", self.input_zp, -128..=127)?;
        in_range(definition, "zero point", self.zp, -128..=127)?;
        in_range(definition, "output", self.output, 1 << 14..=i16::MAX.into())?;
        in_range(definition, "shift", self.shift, 0..=15)?;
        in_range(definition, "gate", self.gate, 1 << 14..=i16::MAX.into())?;
        in_range(definition, "gate exponent", self.gate_exponent, -15..=15)
    }

    pub(super) fn value(&self, code: i32) -> i32 {
        let fine = (code - self.input_zp) * 128; // -32640 ..= 32640
        let product = high(fine, self.output);
        let gate = match self.gate_exponent {
            0 => high(fine, self.gate),
            left @ 1.. => saturated(2 * i64::from(high(saturated(i64::from(fine) << (left - 1)), self.gate))),
            right => Rounding::HalfAway.shift_right(high(fine, self.gate).into(), right.unsigned_abs()) as i32,
        };
        let gate = (gate + (1 << 15)) >> 1; // 0 ..= 32767
        // Division in Rust truncates toward zero.
        let gated = gate * product / (1 << 15);
        let shifted = Rounding::HalfAway.shift_right(gated.into(), self.shift);
        IntType::I8.saturate(shifted + i64::from(self.zp))
    }
}

/// The upper half of twice the product of two 16-bit numbers, rounded. `factor` is positive, so nothing saturates.
fn high(x: i32, factor: i16) -> i32 {
    Rounding::HalfUp.shift_right(i64::from(x) * i64::from(factor), 15) as i32
}

fn saturated(x: i64) -> i32 {
    IntType::I16.saturate(x)
}
