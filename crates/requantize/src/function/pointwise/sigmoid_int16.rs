use super::super::{Definition, FunctionError, in_range, tables::SIGMOID};
use crate::scales::positive;
use serde::{Deserialize, Serialize};

/// LiteRT's LOGISTIC and TANH on int16 (`litert.logistic.int16.v1`, `litert.tanh.int16.v1`). Both interpolate in one
/// table of the logistic function, because tanh t = 2·logistic(2t) − 1.
///
/// v = ⌊(x·multiplier + 2^(shift − 1)) / 2^shift⌋ is the operand in steps of 1/12288 (without the addend if the shift
/// is 0). The exponent n is 9 for the logistic function and 8 for tanh. The table's entries are 2ⁿ steps apart. With
/// the index i = ⌊|v| / 2ⁿ⌋ and the offset o = |v| mod 2ⁿ:
///
/// - If i < 255, u = a·2ⁿ + (b − a)·o with the entries a and b at the indices i and i + 1 of the table. Otherwise u is
///   0x7FFF·2¹⁰ for the logistic function and 0xFFFF·2⁸ for tanh.
/// - logistic: y = ⌊(u + 2⁹) / 2¹⁰⌋ for v ≥ 0, ⌊(2²⁵ − u + 2⁹ − 1) / 2¹⁰⌋ for v < 0.
/// - tanh: y = ⌊(u − 2²³ + 2⁷) / 2⁸⌋ for v ≥ 0, ⌊(2²³ − u + 2⁷ − 1) / 2⁸⌋ for v < 0.
///
/// Zero points are 0, and the result's scale is 2^-15.
///
/// Source: `SigmoidPrepare`, `TanhPrepare` and the reference kernels of LOGISTIC and TANH in LiteRT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SigmoidInt16 {
    /// The mantissa of the scale in steps of 1/12288: 1 ..= 65535, so that products fit `i32`.
    pub multiplier: i32,
    /// The right shift, 0 ..= 31.
    pub shift: u8,
}

/// The scales that LiteRT treats as 2^-12 and those that it treats as 2^-11, each as the bit patterns of the first and
/// the last f32. LiteRT treats a scale as a power of two if its binary logarithm, computed in f32, is within 0.001 of a
/// whole number. The first and the last f32 were found by bisection.
const NEAR_TWO_TO_MINUS_12: [u32; 2] = [0x397f_d29c, 0x3980_16b5];
const NEAR_TWO_TO_MINUS_11: [u32; 2] = [0x39ff_d298, 0x3a00_16b7];

impl SigmoidInt16 {
    pub(super) fn logistic(input_scale: f32) -> Result<SigmoidInt16, FunctionError> {
        Self::from_scale(Definition::LitertLogisticInt16, input_scale, &[NEAR_TWO_TO_MINUS_12])
    }

    pub(super) fn tanh(input_scale: f32) -> Result<SigmoidInt16, FunctionError> {
        let powers = [NEAR_TWO_TO_MINUS_12, NEAR_TWO_TO_MINUS_11];
        Self::from_scale(Definition::LitertTanhInt16, input_scale, &powers)
    }

    /// Derives the parameters from a scale. If the scale counts as one of the powers of two in `powers`, the multiplier
    /// is 3·2^12·scale. Otherwise the multiplier is 12288·scale, doubled until it exceeds about 2^14, and then
    /// truncated.
    fn from_scale(
        definition: Definition,
        input_scale: f32,
        powers: &[[u32; 2]],
    ) -> Result<SigmoidInt16, FunctionError> {
        let scale = positive("input scale", input_scale.into());
        let scale = scale.map_err(|source| FunctionError::Scale { definition, source })?;
        // The bits of positive floats have the same order as the numbers.
        let near = |ends: &[u32; 2]| (ends[0]..=ends[1]).contains(&input_scale.to_bits());
        if let Some(power) = powers.iter().position(near) {
            return Ok(SigmoidInt16 {
                multiplier: 3 << power,
                shift: 0,
            });
        }
        let (mut multiplier, mut shift) = (scale * 12288.0, 0);
        while multiplier <= 32767.0 / 2.0 && shift <= 30 {
            multiplier *= 2.0;
            shift += 1;
        }
        if !(1.0..65536.0).contains(&multiplier) {
            return Err(FunctionError::Factor {
                definition,
                what: "input scale",
                value: scale,
                above: 0.99 / (12288.0 * 2f64.powi(31)),
                most: 65535.0 / 12288.0,
            });
        }
        Ok(SigmoidInt16 {
            multiplier: multiplier as i32,
            shift,
        })
    }

    pub(super) fn check(&self, definition: Definition) -> Result<(), FunctionError> {
        in_range(definition, "multiplier", self.multiplier, 1..=65535)?;
        in_range(definition, "shift", self.shift, 0..=31)
    }

    /// The operand in units of 1/12288.
    fn steps(&self, code: i32) -> i32 {
        let half = (1i64 << self.shift) >> 1;
        // The product is at most 2^15·(2^16 − 1), so the result fits into i32.
        ((i64::from(code) * i64::from(self.multiplier) + half) >> self.shift) as i32
    }

    pub(super) fn logistic_of(&self, code: i32) -> i32 {
        let steps = self.steps(code);
        let sigmoid = interpolated(steps, 9).unwrap_or(0x7FFF << 10);
        let rounded = if steps >= 0 {
            sigmoid + (1 << 9)
        } else {
            (1 << 25) - sigmoid + (1 << 9) - 1
        };
        rounded >> 10
    }

    pub(super) fn tanh_of(&self, code: i32) -> i32 {
        let steps = self.steps(code);
        let above_half = interpolated(steps, 8).unwrap_or(0xFFFF << 8) - (1 << 23);
        let rounded = if steps >= 0 {
            above_half + (1 << 7)
        } else {
            (1 << 7) - 1 - above_half
        };
        rounded >> 8
    }
}

/// Interpolates in the table at |steps| / 2^bits. The result has `bits` more fractional bits than the table's entries.
/// Returns `None` beyond the end of the table.
fn interpolated(steps: i32, bits: u8) -> Option<i32> {
    let size = steps.unsigned_abs();
    let index = (size >> bits) as usize;
    let [entry, next] = SIGMOID.get(index..index + 2)? else {
        return None;
    };
    let (entry, next) = (i32::from(*entry), i32::from(*next));
    // The offset is below 2^9, so it fits into i32.
    let offset = (size & ((1 << bits) - 1)) as i32;
    Some((entry << bits) + (next - entry) * offset)
}
