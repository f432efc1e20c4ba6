use super::{
    affine::{least_multiplicand, product_domain},
    firsts,
};
use crate::Rounding;
use std::ops::RangeInclusive;

/// `half_away(half_up((x * factor + addend) / 2^31) / 2^(shift - 31)) + zero_point`: two roundings, the arithmetic of
/// `Gemmlowp` with a shift to the right and of TOSA's double rounding.
///
/// The first is gemmlowp's saturating rounding doubling high multiply of (a, b), `round(2ab / 2^32)`. Its nudge, `2^30`
/// for `ab >= 0` and `1 - 2^30` below with a division that truncates, amounts to ties towards plus infinity; it
/// saturates for `a = b = -2^31` alone, which a multiplier that is not negative excludes. The rounding right shift that
/// follows adds one when the rest exceeds half of the divisor, less one ulp of it where the value is not negative: ties
/// away from zero.
///
/// Both at once: with p = x * factor + addend, h = half_up(p / 2^31) and t = shift - 31 >= 1, half_away adds
/// 2^(t-1), less one where h < 0, before its shift: in p's units 2^31 less below zero. Therefore
/// result = (p + 2^(shift-1) + (p < 0 ? -2^30 : 2^30)) >> shift,
/// since h < 0 only for p < -2^30, and for -2^30 <= p < 0 (h = 0) both sums stay in [0, 2^shift).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubling {
    /// Mantissa with 31 fractional bits, not negative.
    pub factor: i32,
    /// Added before the first rounding: an input's zero point times the factor.
    pub addend: i64,
    /// Of both roundings together, 32 ..= 62. (By 31 and less there is only the first, which is affine.)
    pub shift: u8,
    /// Added last, in `i32` like all the rest.
    pub zero_point: i32,
}

impl Doubling {
    /// Accumulators for which `i64` arithmetic is exact.
    pub(in crate::form) fn domain(&self) -> RangeInclusive<i64> {
        product_domain(self.factor, self.addend)
    }

    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        let high = Rounding::HalfUp.shift_right(x * i64::from(self.factor) + self.addend, 31);
        Rounding::HalfAway.shift_right(high, self.shift - 31) + i64::from(self.zero_point)
    }

    /// The smallest `x` of all integers with `wide(x) >= value`, or an end of `i128` where all or none are: the inverse
    /// of each stage, last one first.
    pub(in crate::form) fn least_reaching(&self, value: i64) -> i128 {
        let quotient = value - i64::from(self.zero_point);
        least_multiplicand(self.least_product(quotient), i64::from(self.factor))
    }

    /// The smallest `x * factor` of which both roundings make the quotient.
    fn least_product(&self, quotient: i64) -> i128 {
        let high = Rounding::HalfAway.least_reaching(quotient.into(), self.shift - 31);
        Rounding::HalfUp.least_reaching(high, 31) - i128::from(self.addend)
    }

    /// [`Doubling::least_reaching`] of each of these values, where it lies inside the domain.
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
            // Also small products, around the ties next to zero.
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
