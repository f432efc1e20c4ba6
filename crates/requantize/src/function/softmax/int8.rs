use super::super::{Definition, FunctionError, fixed, in_range};
use super::{Divisor, SoftmaxFacts};
use crate::IntType;
use crate::scales::fixed_point::FixedPoint;
use serde::{Deserialize, Serialize};

/// LiteRT's softmax of int8 codes (`litert.softmax.int8.v1`), in 32-bit fixed point.
///
/// With d = x − max x, which is negative or zero:
///
/// - e = exp(half_up(d·2^shift · multiplier / 2³¹)) with 31 fractional bits. The argument of exp has 26 fractional
///   bits. e is 0 if d·2^shift is below −31·2²⁶, which means that d is below −31 / (scale·beta).
/// - Σ is the sum of all half_away(e / 2¹²), with 19 fractional bits. h is the number of leading zero bits of Σ, so
///   Σ·2^h lies in [2³¹, 2³²).
/// - y = sat(half_away(half_up(e · r / 2³¹) / 2^(35 − h)) − 128), where r = 2³¹ / (Σ·2^h / 2³¹) is the reciprocal.
///
/// Domain: rows of 1 ..= 511 codes. LiteRT 2.3.0 aborts if a sum of exponentials is 512 or more.
///
/// Source: `PreprocessSoftmaxScaling` and the reference kernel of SOFTMAX in LiteRT, and the elementary functions of
/// gemmlowp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftmaxInt8 {
    /// The mantissa of scale·beta·2²⁶ with 31 fractional bits: 2³⁰ ..= 2³¹ − 1.
    pub multiplier: i32,
    /// The exponent that belongs to `multiplier`: the factor is multiplier·2^(shift − 31). 1 ..= 31.
    pub shift: u8,
}

pub(super) const FACTS: SoftmaxFacts = SoftmaxFacts {
    elements: IntType::I8,
    symmetric: false,
    output: (1.0 / 256.0, -128),
    range: [-128, 127],
    // If all codes are equal, each exponential is one, and the sum of 511 exponentials has nine integer bits.
    longest_row: 511,
};

/// The number of fractional bits of the exponential's argument.
const FRACTION: u8 = 26;

impl SoftmaxInt8 {
    pub(super) fn from_scales(input_scale: f32, beta: f32) -> Result<SoftmaxInt8, FunctionError> {
        let definition = Definition::LitertSoftmaxInt8;
        let factor = super::factor(definition, input_scale, beta)?;
        // The product of two f32 is exact in f64. A factor of more than 31 bits can be replaced by the largest factor,
        // because with both, the exponential of every difference other than 0 is 0.
        let factor = (factor * f64::from(1 << FRACTION)).min(f64::from(i32::MAX));
        if factor <= 1.0 {
            return Err(FunctionError::Factor {
                definition,
                what: "input scale * beta * 2^26",
                value: factor,
                above: 1.0,
                most: f64::MAX,
            });
        }
        let fixed = FixedPoint::nearest(factor, 31).map_err(|source| FunctionError::Scale { definition, source })?;
        Ok(SoftmaxInt8 {
            multiplier: fixed.mantissa,
            // The exponent is in 1 ..= 31, because the factor is above 1 and below 2^31.
            shift: fixed.exponent.unsigned_abs() as u8,
        })
    }

    pub(super) fn check(&self) -> Result<(), FunctionError> {
        let definition = Definition::LitertSoftmaxInt8;
        in_range(definition, "multiplier", self.multiplier, 1 << 30..=i32::MAX.into())?;
        in_range(definition, "shift", self.shift, 1..=31)
    }

    /// The exponentials of the differences 0, −1, … −255, in this order.
    pub(super) fn exponentials(&self) -> Vec<i32> {
        let least = (31 << FRACTION) >> self.shift;
        let exponential = |distance: i32| {
            if distance > least {
                return 0;
            }
            // The shifted distance is at most 31·2^26, so the shift does not overflow.
            fixed::exp_of_negative(fixed::product(-(distance << self.shift), self.multiplier))
        };
        (0..=255).map(exponential).collect()
    }
}

/// The part of the sum that comes from an exponential, with 19 fractional bits.
pub(super) fn addend(exponential: i32) -> i32 {
    fixed::divided(exponential, 12)
}

/// The divisor for all exponentials of a row with the sum `sum`.
pub(super) fn divisor(sum: i32) -> Divisor {
    // The exponential of the largest code adds 2^19, and the sum is below 2^28, so there are 4 ..= 12 leading zeros.
    let zeros = sum.leading_zeros();
    let above_one = (i64::from(sum) << zeros) - (1 << 31); // 0 ..= 2^31 - 1
    Divisor {
        reciprocal: fixed::reciprocal_of_one_plus(above_one as i32),
        shift: (35 - zeros) as u8,
    }
}

/// The code of an exponential's share of the sum of its row.
pub(super) fn share(exponential: i32, by: Divisor) -> i32 {
    let probability = fixed::divided(fixed::product(by.reciprocal, exponential), by.shift);
    (probability - 128).clamp(-128, 127)
}
