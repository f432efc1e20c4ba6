//! Finds the interval of factors that explain a channel, for forms with one rounding.

use super::Scalar;
use crate::edges::{Edge, Limit, once};
use strait_requantize::{Rounding, form::MAX_SHIFT};

/// The factors from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) low: i128,
    pub(super) high: i128,
}

impl Interval {
    /// An interval that contains a single factor.
    pub(super) fn point(factor: i128) -> Interval {
        let (low, high) = (factor, factor);
        Interval { low, high }
    }

    /// Returns the factors m in the interval for which x·m meets the bound `limit`. If there are no such factors, the
    /// returned interval is empty: its `low` is above its `high`.
    pub(super) fn cut(self, x: i64, limit: Limit) -> Interval {
        let Interval { mut low, mut high } = self;
        let x = i128::from(x);
        if x.unsigned_abs() <= 1 << 32 {
            // The ends of the interval are tested first, since multiplying is faster than dividing. The magnitude of x
            // is at most 2^32 and factors have at most 93 bits, so the products have at most 125 bits and fit.
            let meets = |m: i128| match limit {
                Limit::AtLeast(t) => x * m >= t,
                Limit::AtMost(t) => x * m <= t,
            };
            match (meets(low), meets(high)) {
                (true, true) => return self,
                (false, false) => return Interval { low: high + 1, high },
                _ => {}
            }
        }
        match limit {
            // x·m ≥ t means m ≥ ⌈t / x⌉ for positive x, and m ≤ ⌊t / x⌋ for negative x.
            Limit::AtLeast(t) if x > 0 => low = low.max(ceil(t, x)),
            Limit::AtLeast(t) if x < 0 => high = high.min((-t).div_euclid(-x)),
            Limit::AtMost(t) if x > 0 => high = high.min(t.div_euclid(x)),
            Limit::AtMost(t) if x < 0 => low = low.max(ceil(-t, -x)),
            Limit::AtLeast(t) if t > 0 => low = high + 1,
            Limit::AtMost(t) if t < 0 => low = high + 1,
            Limit::AtLeast(_) | Limit::AtMost(_) => {}
        }
        Interval { low, high }
    }

    pub(super) fn is_empty(self) -> bool {
        self.low > self.high
    }

    pub(super) fn middle(self) -> i128 {
        self.low + (self.high - self.low) / 2
    }

    /// Returns the integer that has the most trailing zero bits, among those in the interval. When trailing zeros are
    /// not counted, no other integer in the interval has fewer bits.
    pub(super) fn fewest_bits(self) -> i128 {
        let multiple = |k: u32| {
            let first = ceil(self.low, 1 << k) << k;
            (first <= self.high).then_some(first)
        };
        (0..100).rev().find_map(multiple).unwrap_or(self.low)
    }

    /// True if the interval contains a positive number of at most `bits` bits times a power of two.
    pub(super) fn has_number_of(self, bits: u8) -> bool {
        let length = 128 - self.high.leading_zeros();
        let spare = length.saturating_sub(bits.into());
        ceil(self.low, 1 << spare) << spare <= self.high
    }
}

/// Returns the factors m in the interval `all` for which the products x·m meet all bounds; `None` if there are none.
pub(super) fn narrow(edges: &[Edge], all: Interval, limit: impl Fn(&Edge) -> Limit) -> Option<Interval> {
    edges.iter().try_fold(all, |interval, edge| {
        let left = interval.cut(edge.x, limit(edge));
        (!left.is_empty()).then_some(left)
    })
}

/// The quotient rounded up; `divisor > 0`.
fn ceil(number: i128, divisor: i128) -> i128 {
    -(-number).div_euclid(divisor)
}

/// The smallest shift with which a factor of 1 meets all bounds.
pub(super) fn shift(edges: &[Edge], rounding: Rounding) -> Option<Scalar> {
    let one = Interval::point(1);
    let meets = |&shift: &u8| narrow(edges, one, |edge| edge.product(0, once(rounding, shift))).is_some();
    (0..=MAX_SHIFT).find(meets).map(Scalar::shift)
}

/// Finds a factor of at most `bits` bits that meets all bounds. Returns it with its shift; `None` if there is no such
/// factor.
///
/// The search uses the largest shift. This also finds every factor with a smaller shift s, since for every accumulator
/// x, factor m and rounding, round(x·m·2^k / 2^(s+k)) equals round(x·m / 2^s).
pub(super) fn factor(edges: &[Edge], zero: i64, rounding: Rounding, bits: u8) -> Option<Scalar> {
    within(bracketed(edges, zero, rounding, bits)?, bits)
}

/// The factor with the fewest bits in the interval, if it has at most `bits` bits. Factors are in units of 2^-62.
pub(super) fn within(interval: Interval, bits: u8) -> Option<Scalar> {
    let fewest = interval.fewest_bits();
    let scalar = rounded(fewest, bits)?;
    (i128::from(scalar.factor) << (MAX_SHIFT - scalar.shift) == fewest).then_some(scalar)
}

/// All factors that a multiplier of at most `bits` bits can have, in units of 2^-62.
pub(super) fn all(bits: u8) -> Interval {
    Interval {
        low: 1,
        high: ((1i128 << bits) - 1) << MAX_SHIFT,
    }
}

/// Returns the interval of the factors that meet all bounds and that a multiplier of at most `bits` bits can have. The
/// factors are in units of 2^-62.
fn bracketed(edges: &[Edge], zero: i64, rounding: Rounding, bits: u8) -> Option<Interval> {
    narrow(edges, all(bits), |edge| edge.product(zero, once(rounding, MAX_SHIFT)))
}

/// The smallest and the largest factor that meet all bounds, as real numbers.
pub(super) fn ends(edges: &[Edge], zero: i64, rounding: Rounding, bits: u8) -> Option<[f64; 2]> {
    let Interval { low, high } = bracketed(edges, zero, rounding, bits)?;
    Some([low, high].map(|factor| factor as f64 / (1u64 << MAX_SHIFT) as f64))
}

/// Returns the number of `bits` bits that is closest to `factor · 2^-62`, and its shift. If the shift would be too
/// large, the returned number has fewer bits.
pub(super) fn rounded(factor: i128, bits: u8) -> Option<Scalar> {
    let length = 128 - factor.leading_zeros();
    let mut spare = length.saturating_sub(bits.into());
    let mut mantissa = if spare == 0 {
        factor
    } else {
        (factor + (1 << (spare - 1))) >> spare
    };
    if mantissa >> bits != 0 {
        mantissa >>= 1;
        spare += 1;
    }
    let shift = u8::try_from(u32::from(MAX_SHIFT).checked_sub(spare)?).ok()?;
    Some(Scalar {
        factor: i32::try_from(mantissa).ok()?,
        shift,
        constant: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_with_the_fewest_bits_is_the_multiple_of_the_largest_power_of_two() {
        for (low, high, expect) in [(5, 5, 5), (5, 6, 6), (9, 15, 12), (9, 17, 16), (1, 3, 2), (13, 14, 14)] {
            assert_eq!(Interval { low, high }.fewest_bits(), expect, "{low} ..= {high}");
        }
    }

    #[test]
    fn numbers_are_cut_to_their_width_with_the_shift_that_makes_up_for_it() {
        let parts = |factor, bits| rounded(factor, bits).map(|scalar| (scalar.factor, scalar.shift));
        assert_eq!(parts(1 << 62, 1), Some((1, 0)));
        assert_eq!(parts(0b1011 << 50, 3), Some((0b110, 11)));
        assert_eq!(parts(0b1111 << 50, 3), Some((0b100, 10)));
        assert_eq!(parts(5, 31), Some((5, 62)));
        assert_eq!(parts(1 << 80, 31), Some((1 << 30, 12)));
        assert_eq!(parts(1 << 93, 15), None);
    }
}
