//! 32-bit fixed-point numbers as in gemmlowp: a raw `i32` with n integer bits stands for the number `raw * 2^(n - 31)`.
//!
//! Products round half up, right shifts round half away from zero, and left shifts saturate. Each constant is the raw
//! integer nearest to the number that it is named after.

use super::{Definition, FunctionError, in_range};
use crate::{
    Rounding,
    scales::{ScaleError, litert::quantize_multiplier},
};
use serde::{Deserialize, Serialize};

/// A factor `multiplier * 2^(exponent - 31)`. LiteRT multiplies an `i32` by this factor in three operations: a left
/// shift, a product and a right shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// The mantissa with 31 fractional bits, not negative.
    pub multiplier: i32,
    /// The exponent, at least -31. If it is positive, it shifts to the left.
    pub exponent: i8,
}

impl Factor {
    /// The multiplier and the exponent that LiteRT derives for a factor.
    pub(super) fn of(factor: f64) -> Result<Factor, ScaleError> {
        let (multiplier, exponent) = quantize_multiplier(factor)?;
        Ok(Factor { multiplier, exponent })
    }

    /// Multiplies a number by the factor. After the left shift the number must fit into `i32`.
    pub(super) fn times(self, x: i32) -> i32 {
        let left = x << self.exponent.max(0);
        divided(product(left, self.multiplier), self.exponent.min(0).unsigned_abs())
    }

    pub(super) fn check(self, definition: Definition, most: i8) -> Result<(), FunctionError> {
        in_range(definition, "multiplier", self.multiplier, 0..=i32::MAX.into())?;
        in_range(definition, "exponent", self.exponent, -31..=most.into())
    }
}

/// Multiplies two fixed-point numbers. The product has as many integer bits as both numbers together. If both are the
/// smallest `i32`, the product saturates.
pub(super) fn product(a: i32, b: i32) -> i32 {
    saturated(Rounding::HalfUp.shift_right(i64::from(a) * i64::from(b), 31))
}

/// `x / 2^shift`, rounded.
pub(super) fn divided(x: i32, shift: u8) -> i32 {
    // The magnitude of the quotient is at most that of x, so it fits into i32.
    Rounding::HalfAway.shift_right(x.into(), shift) as i32
}

/// Computes `x * 2^shift`, saturated. If the result is read with `shift` fewer integer bits than x, it stands for the
/// same number as x. `shift` is at most 31.
pub(super) fn raised(x: i32, shift: u8) -> i32 {
    saturated(i64::from(x) << shift)
}

fn saturated(x: i64) -> i32 {
    x.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// Computes e^a for `-32 <= a <= 0`. The raw integer `a` has 5 integer bits, and the result has none.
///
/// The argument is split into r - k/4, where r is in [-1/4, 0) and k is a whole number. The result is the Taylor series
/// of e^r around -1/8, times e^(-2^j) for each bit j of k/4 that is set.
pub(super) fn exp_of_negative(a: i32) -> i32 {
    /// e^(-2^j) for each j in -2 ..= 4.
    const POWERS: [i32; 7] = [
        1_672_461_947,
        1_302_514_674,
        790_015_084,
        290_630_308,
        39_332_535,
        720_401,
        242,
    ];
    const QUARTER: i32 = 1 << 24;
    if a == 0 {
        return i32::MAX;
    }
    let rest = (a & (QUARTER - 1)) - QUARTER;
    let quarters = (rest - a) >> 24;
    let powers = POWERS.into_iter().enumerate();
    powers
        .filter(|(bit, _)| quarters >> bit & 1 == 1)
        .fold(exp_near_zero(raised(rest, 5)), |result, (_, power)| {
            product(result, power)
        })
}

/// e^a for `-1/4 <= a < 0`, without integer bits. With x = a + 1/8, this is e^(-1/8) * (1 + x + x²/2 + x³/6 + x⁴/24).
fn exp_near_zero(a: i32) -> i32 {
    const EXP_OF_MINUS_EIGHTH: i32 = 1_895_147_668;
    const THIRD: i32 = 715_827_883;
    let x = a + (1 << 28);
    let square = product(x, x);
    let (cube, fourth) = (product(square, x), product(square, square));
    let tail = divided(product(divided(fourth, 2) + cube, THIRD) + square, 1);
    EXP_OF_MINUS_EIGHTH + product(EXP_OF_MINUS_EIGHTH, x + tail)
}

/// Computes 1 / (1 + x) for `0 <= x < 1`. Neither `x` nor the result has integer bits. Three steps of Newton's method,
/// with two integer bits, find the reciprocal of d = (1 + x) / 2. They start at 48/17 - 32/17 * d.
pub(super) fn reciprocal_of_one_plus(x: i32) -> i32 {
    const FORTY_EIGHT_17THS: i32 = 1_515_870_810;
    const THIRTY_TWO_17THS: i32 = 1_010_580_540;
    const ONE: i32 = 1 << 29;
    // Half of the sum of two numbers that are not negative, rounded up.
    let half = ((i64::from(x) + i64::from(i32::MAX) + 1) / 2) as i32;
    let mut y = FORTY_EIGHT_17THS + product(half, -THIRTY_TWO_17THS);
    for _ in 0..3 {
        let error = ONE - product(half, y);
        y += raised(product(y, error), 2);
    }
    // The result is half of y, the reciprocal of d, and has two integer bits less than y.
    raised(y, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(raw: i32, integer_bits: i32) -> f64 {
        f64::from(raw) * 2f64.powi(integer_bits - 31)
    }

    #[test]
    fn constants_are_the_nearest_integers() {
        let nearest = |x: f64, bits: i32| (x * 2f64.powi(31 - bits)).round() as i32;
        assert_eq!(exp_of_negative(0), i32::MAX);
        // At -1/8, the series has only its constant term.
        assert_eq!(exp_near_zero(-(1 << 28)), nearest((-0.125f64).exp(), 0));
        // For each of these arguments, a single bit of k/4 is set, so the series is multiplied by a single factor.
        let middle = -(1 << 23);
        for (bit, power) in [
            (0, -0.25f64),
            (1, -0.5),
            (2, -1.0),
            (3, -2.0),
            (4, -4.0),
            (5, -8.0),
            (6, -16.0),
        ] {
            let below = exp_of_negative(middle - (1 << (24 + bit)).min(31 << 26));
            let expect = nearest((-0.125f64).exp() * power.exp(), 0);
            assert!((below - expect).abs() <= 1, "{bit}: {below} {expect}");
        }
    }

    #[test]
    fn the_exponential_is_near() {
        let every = (0..=(31 << 26)).step_by(9973).chain([1, 2, 31 << 26]);
        for a in every.map(|a: i32| -a) {
            let (ours, exact) = (real(exp_of_negative(a), 0), real(a, 5).exp());
            assert!((ours - exact).abs() < 1e-6, "{a}: {ours} {exact}");
        }
    }

    #[test]
    fn the_reciprocal_is_near() {
        let every = (0..i32::MAX).step_by(99_991).chain([1, i32::MAX]);
        for x in every {
            let (ours, exact) = (real(reciprocal_of_one_plus(x), 0), 1.0 / (1.0 + real(x, 0)));
            assert!((ours - exact).abs() < 1e-6, "{x}: {ours} {exact}");
        }
    }

    #[test]
    fn products_and_shifts_round_as_gemmlowp_does() {
        assert_eq!(product(i32::MIN, i32::MIN), i32::MAX);
        // A product rounds ties up, and a shift rounds them away from zero.
        assert_eq!([product(1, 1 << 30), product(-1, 1 << 30)], [1, 0]);
        assert_eq!([divided(3, 1), divided(-3, 1), divided(-1, 2)], [2, -2, 0]);
        assert_eq!([raised(1 << 26, 5), raised(-(1 << 26) - 1, 5)], [i32::MAX, i32::MIN]);
    }
}
