//! Factors in float: bisection over their bit patterns, which are ordered as the numbers are.

use super::Found;
use crate::edges::{Edge, Side};
use strait_requantize::Rounding;

/// The patterns of a factor that meet all bounds, as far as there are any.
fn patterns(edges: &[Edge], all: [u64; 2], result: impl Fn(u64, i64) -> i64) -> ([u64; 2], usize, Option<u64>) {
    let [mut low, mut high] = all;
    for (met, edge) in edges.iter().enumerate() {
        let holds = |bits: u64| edge.holds(result(bits, edge.x));
        // A larger factor makes positive results larger and negative ones smaller.
        let grows = (edge.x > 0) == (edge.side == Side::AtLeast);
        let (near, far) = if grows { (low, high) } else { (high, low) };
        if holds(near) {
            continue;
        }
        if !holds(far) {
            return ([low, high], met, Some(far));
        }
        // It does not hold at `no`, and does at `yes`.
        let (mut no, mut yes) = (near, far);
        while no.abs_diff(yes) > 1 {
            let middle = no.midpoint(yes);
            if holds(middle) { yes = middle } else { no = middle }
        }
        if grows { low = yes } else { high = yes }
    }
    ([low, high], edges.len(), None)
}

/// Normal and subnormal numbers above zero.
const SINGLE: [u64; 2] = [1, f32::MAX.to_bits() as u64];

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// half_even(f32(x)·m) + z, m of so many significant bits.
pub(super) fn after(edges: &[Edge], zero: i64, bits: u8) -> Option<Found<f32>> {
    let result = |m: u64, x: i64| ((x as f32 * single(m)).round_ties_even() as i64).saturating_add(zero);
    Some(cut(patterns(edges, SINGLE, result), bits))
}

/// half_even(f32(x)·m + z)
pub(super) fn inside(edges: &[Edge], zero: i64) -> Option<Found<f32>> {
    let result = |m: u64, x: i64| (x as f32 * single(m) + zero as f32).round_ties_even() as i64;
    Some(cut(patterns(edges, SINGLE, result), 24))
}

/// A pattern of the interval whose last bits are zero.
fn cut(([low, high], met, failed): ([u64; 2], usize, Option<u64>), bits: u8) -> Found<f32> {
    let spare = 24 - u32::from(bits.min(24));
    let middle = low.midpoint(high);
    // The nearest multiple of a power of two to the middle, on either side.
    let below = middle >> spare << spare;
    let above = below + (1 << spare);
    let inside = [below, above].into_iter().find(|m| (low..=high).contains(m));
    let nearest = failed.map_or(below, |m| m >> spare << spare);
    Found {
        parameters: single(inside.filter(|_| failed.is_none()).unwrap_or(nearest.max(1 << spare))),
        met,
        explains: failed.is_none() && inside.is_some(),
    }
}

/// half_away(f64(x)·m) + z, m as 53 bits and an exponent.
pub(super) fn double(edges: &[Edge], zero: i64) -> Option<Found<(i64, i8)>> {
    // Those of the form: 2^-129 up to 2^31.
    let ends = [2f64.powi(-129).to_bits(), 2f64.powi(31).to_bits() - 1];
    let result = |m: u64, x: i64| {
        let product = x as f64 * f64::from_bits(m);
        (Rounding::HalfAway.round_f64(product) as i64).saturating_add(zero)
    };
    let ([low, high], met, failed) = patterns(edges, ends, result);
    let bits = failed.unwrap_or(low.midpoint(high));
    let multiplier = (bits & ((1 << 52) - 1)) | 1 << 52;
    let exponent = (bits >> 52) as i64 - 1022;
    Some(Found {
        parameters: (multiplier.cast_signed(), i8::try_from(exponent).ok()?),
        met,
        explains: failed.is_none(),
    })
}
