use super::affine::least_multiplicand;
use crate::Rounding;
use std::ops::RangeInclusive;

/// gemmlowp's multiplication by a fixed-point factor: the arithmetic of `Gemmlowp`.
///
/// The saturating rounding doubling high multiply of (a, b) is `round(2ab / 2^32)`. Its nudge, `2^30` for `ab >= 0` and
/// `1 - 2^30` below with a division that truncates, amounts to ties towards plus infinity; it saturates for
/// `a = b = -2^31` alone, which a multiplier that is not negative excludes. The rounding right shift that follows adds
/// one when the rest exceeds half of the divisor, less one ulp of it where the value is not negative: ties away from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubling {
    /// Mantissa with 31 fractional bits, not negative.
    pub multiplier: i32,
    /// Before the multiplication, 0 ..= 30.
    pub left_shift: u8,
    /// After it, 0 ..= 31. One of the two shifts is zero.
    pub right_shift: u8,
    /// Added last, in `i32` like all the rest.
    pub zero_point: i32,
}

impl Doubling {
    /// Where neither the left shift nor the addition of the zero point leaves `i32`. Where they do, the runtimes wrap.
    pub(in crate::form) fn domain(&self) -> RangeInclusive<i64> {
        let (low, high) = (
            i64::from(i32::MIN) >> self.left_shift,
            i64::from(i32::MAX) >> self.left_shift,
        );
        let bounded = |x: i128| x.clamp(i128::from(low), i128::from(high) + 1) as i64;
        bounded(self.least_reaching(i64::from(i32::MIN)))..=bounded(self.least_reaching(i64::from(i32::MAX) + 1)) - 1
    }

    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        let product = (x << self.left_shift) * i64::from(self.multiplier);
        let high = Rounding::HalfUp.shift_right(product, 31);
        Rounding::HalfAway.shift_right(high, self.right_shift) + i64::from(self.zero_point)
    }

    /// The smallest `x` of all integers with `wide(x) >= value`, or an end of `i128` where all or none are: the inverse of
    /// each stage, last one first.
    pub(in crate::form) fn least_reaching(&self, value: i64) -> i128 {
        let quotient = i128::from(value) - i128::from(self.zero_point);
        let high = Rounding::HalfAway.least_reaching(quotient, self.right_shift);
        let product = Rounding::HalfUp.least_reaching(high, 31);
        least_multiplicand(product, i64::from(self.multiplier) << self.left_shift)
    }

    pub(in crate::form) fn is_identity(&self) -> bool {
        i64::from(self.multiplier) << self.left_shift == 1 << (31 + self.right_shift) && self.zero_point == 0
    }
}
