use super::{
    affine::{least_multiplicand, product_domain},
    firsts,
};
use crate::Rounding;
use std::ops::RangeInclusive;

/// `half_away(half_up((x * factor + addend) / 2^31) / 2^(shift - 31)) + zero_point`, with two roundings. This is the
/// arithmetic of `Gemmlowp` with a right shift, and of TOSA's double rounding.
///
/// The first rounding is that of gemmlowp's function SaturatingRoundingDoublingHighMul, which computes `round(2ab /
/// 2^32)` for two numbers a and b. This function adds `2^30` to `ab` if `ab >= 0`, and `1 - 2^30` if `ab < 0`, divides
/// by `2^31` and truncates. Together this rounds to the nearest with ties towards plus infinity. It saturates only for
/// `a = b = -2^31`, which cannot occur because the multiplier is not negative. The second rounding is gemmlowp's
/// rounding right shift (RoundingDivideByPOT). This shift rounds down and adds one if the remainder is above a limit:
/// half of the divisor for negative numbers, and one less for others. So ties go away from zero.
///
/// Both roundings can be computed in one step. Let p = x * factor + addend, h = half_up(p / 2^31) and t = shift - 31,
/// which is at least 1. Before its shift by t, half_away adds 2^(t-1) to h, or 2^(t-1) - 1 if h < 0. One in h is 2^31
/// in p, and half_up adds 2^30 to p. Therefore result = (p + 2^(shift-1) + (h < 0 ? -2^30 : 2^30)) >> shift. The
/// condition h < 0 can be replaced by p < 0. The two conditions differ only for -2^30 <= p < 0, where h = 0. There, the
/// sum lies in [0, 2^shift) with -2^30 as well as with 2^30, so the result is 0 with both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubling {
    /// The mantissa with 31 fractional bits, not negative.
    pub factor: i32,
    /// The number that is added before the first rounding: an input's zero point times the factor.
    pub addend: i64,
    /// The sum of the shifts of both roundings, 32 ..= 62. (If it is 31 or less, there is only the first rounding, and
    /// the arithmetic is affine.)
    pub shift: u8,
    /// The number that is added last. The runtime computes this sum in `i32`.
    pub zero_point: i32,
}

impl Doubling {
    /// The accumulators for which `i64` arithmetic is exact.
    pub(in crate::form) fn domain(&self) -> RangeInclusive<i64> {
        product_domain(self.factor, self.addend)
    }

    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        let high = Rounding::HalfUp.shift_right(x * i64::from(self.factor) + self.addend, 31);
        Rounding::HalfAway.shift_right(high, self.shift - 31) + i64::from(self.zero_point)
    }

    /// Returns the smallest integer `x` with `wide(x) >= value`, where `wide` is the result before saturation. If all
    /// integers satisfy this, returns `i128::MIN`, and if none does, `i128::MAX`. Inverts each operation, the last one
    /// first.
    pub(in crate::form) fn least_reaching(&self, value: i64) -> i128 {
        let quotient = value - i64::from(self.zero_point);
        least_multiplicand(self.least_product(quotient), i64::from(self.factor))
    }

    /// The smallest `x * factor` for which both roundings give at least `quotient`.
    fn least_product(&self, quotient: i64) -> i128 {
        let high = Rounding::HalfAway.least_reaching(quotient.into(), self.shift - 31);
        Rounding::HalfUp.least_reaching(high, 31) - i128::from(self.addend)
    }

    /// [`Doubling::least_reaching`] for each number in `values`. The results must lie inside the domain.
    pub(in crate::form) fn firsts(&self, values: RangeInclusive<i64>) -> Vec<i64> {
        let zero = i64::from(self.zero_point);
        let quotients = values.start() - zero..=values.end() - zero;
        firsts(quotients, self.shift, i64::from(self.factor.max(1)), |quotient| {
            self.least_product(quotient)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn two_roundings_are_one_shift(factor: i32, addend in -(1i64 << 40)..1 << 40, shift in 32u8..=62, x: i32, spread in 0u8..31) {
            let factor = factor & i32::MAX;
            // This also tests small products, around the ties next to zero.
            let (x, addend) = (i64::from(x >> spread), addend >> spread);
            let form = Doubling { factor, addend, shift, zero_point: 0 };
            let product = x * i64::from(factor) + addend;
            for product in [product, product & !0xFFFF_FFFF, -(1 << 30), -(1 << 30) - 1, -1, 0, 1 << 30] {
                let nudge = (1 << (shift - 1)) + if product < 0 { -(1i64 << 30) } else { 1 << 30 };
                let twice = Doubling { factor: 1, addend: 0, ..form }.wide(product);
                prop_assert_eq!(twice, (product + nudge) >> shift);
            }
        }
    }
}
