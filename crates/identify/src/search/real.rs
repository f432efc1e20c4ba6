//! Finds float factors by bisection over their bit patterns. Bit patterns of positive floats have the same order as the
//! floats.

use super::affine::Interval;
use crate::edges::{Edge, Side};
use strait_requantize::Rounding;

/// Float factors, represented by their bit patterns. `result(pattern, accumulator)` computes the result of the form
/// with the factor of this pattern.
pub(super) struct Patterns<R> {
    /// The range of all bit patterns that are searched.
    pub(super) all: [u64; 2],
    /// Computes the result from a pattern and an accumulator. For a positive accumulator the result grows with the
    /// pattern, and for a negative one it falls.
    pub(super) result: R,
}

impl<R: Fn(u64, i64) -> i64> Patterns<R> {
    /// Narrows an interval of bit patterns to those that meet a bound. `None` if no pattern meets it.
    pub(super) fn cut(&self, [low, high]: [u64; 2], edge: &Edge) -> Option<[u64; 2]> {
        let holds = |bits: u64| edge.holds((self.result)(bits, edge.x));
        // A larger factor makes positive results larger and negative ones smaller.
        let grows = (edge.x > 0) == (edge.side == Side::AtLeast);
        let (near, far) = if grows { (low, high) } else { (high, low) };
        if holds(near) {
            return Some([low, high]);
        }
        if !holds(far) {
            return None;
        }
        // In each step of the bisection, the bound does not hold at `no`, and holds at `yes`.
        let (mut no, mut yes) = (near, far);
        while no.abs_diff(yes) > 1 {
            let middle = no.midpoint(yes);
            if holds(middle) { yes = middle } else { no = middle }
        }
        Some(if grows { [yes, high] } else { [low, yes] })
    }

    /// The interval of bit patterns that meet all bounds. `None` if no pattern does.
    pub(super) fn narrow(&self, edges: &[Edge]) -> Option<[u64; 2]> {
        edges.iter().try_fold(self.all, |left, edge| self.cut(left, edge))
    }
}

/// Bit patterns of all positive f32, normal and subnormal.
const SINGLE: [u64; 2] = [1, f32::MAX.to_bits() as u64];

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The patterns of the factor m in half_even(f32(x)·m) + z.
pub(super) fn after(zero: i64) -> Patterns<impl Fn(u64, i64) -> i64> {
    Patterns {
        all: SINGLE,
        result: move |m, x| ((x as f32 * single(m)).round_ties_even() as i64).saturating_add(zero),
    }
}

/// The patterns of the factor m in half_even(f32(x)·m + z).
pub(super) fn inside(zero: i64) -> Patterns<impl Fn(u64, i64) -> i64> {
    Patterns {
        all: SINGLE,
        result: move |m, x| (x as f32 * single(m) + zero as f32).round_ties_even() as i64,
    }
}

/// The patterns of the factor m in half_away(f64(x)·m) + z. The form allows m from 2^-129 to 2^31.
pub(super) fn double(zero: i64) -> Patterns<impl Fn(u64, i64) -> i64> {
    Patterns {
        all: [2f64.powi(-129).to_bits(), 2f64.powi(31).to_bits() - 1],
        result: move |m, x| {
            let product = x as f64 * f64::from_bits(m);
            (Rounding::HalfAway.round_f64(product) as i64).saturating_add(zero)
        },
    }
}

/// Returns a float that has at most `bits` significant bits and a bit pattern in the interval; `None` if there is none.
pub(super) fn cut([low, high]: [u64; 2], bits: u8) -> Option<f32> {
    let spare = 24 - u32::from(bits.min(24));
    let middle = low.midpoint(high);
    // `below` and `above` are the bit patterns closest to the middle on both sides, among those that end in `spare`
    // zero bits.
    let below = middle >> spare << spare;
    let above = below + (1 << spare);
    let inside = [below, above].into_iter().find(|m| (low..=high).contains(m));
    inside.map(single)
}

/// The float with this bit pattern, cut to `bits` significant bits.
pub(super) fn nearest(pattern: u64, bits: u8) -> f32 {
    let spare = 24 - u32::from(bits.min(24));
    single((pattern >> spare << spare).max(1 << spare))
}

/// The double in the middle of an interval of bit patterns, as a multiplier of 53 bits and an exponent.
pub(super) fn parts([low, high]: [u64; 2]) -> Option<(i64, i8)> {
    let bits = low.midpoint(high);
    let multiplier = (bits & ((1 << 52) - 1)) | 1 << 52;
    let exponent = (bits >> 52) as i64 - 1022;
    Some((multiplier.cast_signed(), i8::try_from(exponent).ok()?))
}

/// Converts an interval of bit patterns to an interval of integers.
pub(super) fn as_integers(patterns: [u64; 2]) -> Interval {
    let [low, high] = patterns.map(i128::from);
    Interval { low, high }
}

/// The inverse of [`as_integers`]. Patterns have 64 bits, so no bits are lost in the casts.
pub(super) fn ends(interval: Interval) -> [u64; 2] {
    [interval.low as u64, interval.high as u64]
}
