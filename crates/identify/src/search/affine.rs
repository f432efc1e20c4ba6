//! One rounding: the interval of factors of a channel.

use super::{Found, Scalar};
use crate::edges::{Edge, Limit, once};
use strait_requantize::{Rounding, form::MAX_SHIFT};

/// Factors between two ends, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) low: i128,
    pub(super) high: i128,
}

/// Rest of an interval of factors behind the bounds.
pub(super) struct Narrowed {
    pub(super) interval: Interval,
    /// Number of bounds that were met.
    pub(super) met: usize,
    /// The factor of the interval that comes nearest to the first bound that none in it meets.
    pub(super) failed: Option<i128>,
}

/// Narrows an interval of factors m by bounds on the products x·m, up to the first that none of them meets.
pub(super) fn narrow(edges: &[Edge], mut interval: Interval, limit: impl Fn(&Edge) -> Limit) -> Narrowed {
    for (met, edge) in edges.iter().enumerate() {
        let Interval { mut low, mut high } = interval;
        let x = i128::from(edge.x);
        match limit(edge) {
            // x·m ≥ t is m ≥ ⌈t / x⌉ above zero, and m ≤ ⌊t / x⌋ below.
            Limit::AtLeast(t) if x > 0 => low = low.max(ceil(t, x)),
            Limit::AtLeast(t) if x < 0 => high = high.min((-t).div_euclid(-x)),
            Limit::AtMost(t) if x > 0 => high = high.min(t.div_euclid(x)),
            Limit::AtMost(t) if x < 0 => low = low.max(ceil(-t, -x)),
            Limit::AtLeast(t) if t > 0 => low = high + 1,
            Limit::AtMost(t) if t < 0 => low = high + 1,
            Limit::AtLeast(_) | Limit::AtMost(_) => {}
        }
        if low > high {
            let failed = if low > interval.low {
                interval.high
            } else {
                interval.low
            };
            return Narrowed {
                interval,
                met,
                failed: Some(failed),
            };
        }
        interval = Interval { low, high };
    }
    Narrowed {
        interval,
        met: edges.len(),
        failed: None,
    }
}

/// The quotient rounded up; `divisor > 0`.
fn ceil(number: i128, divisor: i128) -> i128 {
    -(-number).div_euclid(divisor)
}

/// Every shift by itself. The one that meets most bounds, where none meets all.
pub(super) fn shift(edges: &[Edge], rounding: Rounding) -> Option<Found<Scalar>> {
    let one = Interval { low: 1, high: 1 };
    let of = |shift| {
        let found = narrow(edges, one, |edge| edge.product(0, once(rounding, shift)));
        Found {
            parameters: Scalar {
                factor: 1,
                shift,
                constant: 0,
            },
            met: found.met,
            explains: found.failed.is_none(),
        }
    };
    (0..=MAX_SHIFT).map(of).max_by_key(|found| found.met)
}

/// A factor of at most so many bits and its shift.
///
/// With the largest shift every factor of fewer bits and a smaller one is among the integers: ⟨x·m·2^k / 2^(s+k)⟩ is
/// ⟨x·m / 2^s⟩ for every rounding.
pub(super) fn factor(edges: &[Edge], zero: i64, rounding: Rounding, bits: u8) -> Option<Found<Scalar>> {
    let found = bracketed(edges, zero, rounding, bits);
    let scalar = |(factor, shift)| Scalar {
        factor,
        shift,
        constant: 0,
    };
    let within = |interval: Interval| {
        let fewest = fewest_bits(interval);
        let parts = rounded(fewest, bits)?;
        (i128::from(parts.0) << (MAX_SHIFT - parts.1) == fewest).then_some(parts)
    };
    Some(match found.failed {
        None => match within(found.interval) {
            Some(parts) => Found {
                parameters: scalar(parts),
                met: found.met,
                explains: true,
            },
            None => {
                let middle = found.interval.low + (found.interval.high - found.interval.low) / 2;
                Found {
                    parameters: scalar(rounded(middle, bits)?),
                    met: found.met,
                    explains: false,
                }
            }
        },
        Some(factor) => Found {
            parameters: scalar(rounded(factor, bits)?),
            met: found.met,
            explains: false,
        },
    })
}

/// Factors, in units of 2^-62, between which the bounds leave one of at most so many bits.
fn bracketed(edges: &[Edge], zero: i64, rounding: Rounding, bits: u8) -> Narrowed {
    let all = Interval {
        low: 1,
        high: ((1i128 << bits) - 1) << MAX_SHIFT,
    };
    narrow(edges, all, |edge| edge.product(zero, once(rounding, MAX_SHIFT)))
}

/// The least and the largest factor that the bounds leave.
pub(super) fn ends(edges: &[Edge], zero: i64, rounding: Rounding, bits: u8) -> [f64; 2] {
    let Interval { low, high } = bracketed(edges, zero, rounding, bits).interval;
    [low, high].map(|factor| factor as f64 / (1u64 << MAX_SHIFT) as f64)
}

/// The integer of an interval that most twos divide: no other has fewer bits between its first and its last.
fn fewest_bits(Interval { low, high }: Interval) -> i128 {
    let multiple = |k: u32| {
        let first = ceil(low, 1 << k) << k;
        (first <= high).then_some(first)
    };
    (0..100).rev().find_map(multiple).unwrap_or(low)
}

/// The nearest number of so many bits to `factor · 2^-62`, with its shift; with fewer bits where the shift would be larger.
fn rounded(factor: i128, bits: u8) -> Option<(i32, u8)> {
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
    Some((i32::try_from(mantissa).ok()?, shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_with_the_fewest_bits_is_the_multiple_of_the_largest_power_of_two() {
        for (low, high, expect) in [(5, 5, 5), (5, 6, 6), (9, 15, 12), (9, 17, 16), (1, 3, 2), (13, 14, 14)] {
            assert_eq!(fewest_bits(Interval { low, high }), expect, "{low} ..= {high}");
        }
    }

    #[test]
    fn numbers_are_cut_to_their_width_with_the_shift_that_makes_up_for_it() {
        assert_eq!(rounded(1 << 62, 1), Some((1, 0)));
        assert_eq!(rounded(0b1011 << 50, 3), Some((0b110, 11)));
        assert_eq!(rounded(0b1111 << 50, 3), Some((0b100, 10)));
        assert_eq!(rounded(5, 31), Some((5, 62)));
        assert_eq!(rounded(1 << 80, 31), Some((1 << 30, 12)));
        assert_eq!(rounded(1 << 93, 15), None);
    }
}
