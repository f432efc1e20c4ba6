//! Scale and zero point that let codes cover a range of real numbers.

use super::fixed_point::{frexp, ldexp};

/// Below this step a grid resolves nothing that an f32 computation upstream had not already lost.
const FINEST: f64 = f32::MIN_POSITIVE as f64;

/// Scale and zero point of a grid whose codes `[first, last]` cover `[low, high]`, widened to hold zero; none for a range
/// that is not finite, or that needs a step which no f32 holds.
///
/// Asymmetric: scale = (high − low) / (last − first), zero point = first − low / scale, rounded half away from zero and
/// kept in the type (as LiteRT's converter nudges it). Symmetric: scale = max(low / first, high / last), zero point 0. A
/// range of nothing but zero gets scale 1. With `powers`, the scale is the next power of two.
pub fn of_range([low, high]: [f32; 2], [first, last]: [f64; 2], symmetric: bool, powers: bool) -> Option<(f32, i32)> {
    let (low, high) = (f64::from(low.min(0.0)), f64::from(high.max(0.0)));
    if !low.is_finite() || !high.is_finite() {
        return None;
    }
    let mut scale = match symmetric {
        // A side without codes (a symmetric unsigned type) holds no real numbers; who wants some there refuses it.
        true => (high / last).max(if first < 0.0 { low / first } else { 0.0 }),
        false => (high - low) / (last - first),
    };
    if low == 0.0 && high == 0.0 {
        scale = 1.0;
    }
    scale = scale.max(FINEST);
    if powers {
        scale = next_power_of_two(scale);
    }
    let zero_point = match symmetric {
        true => 0,
        false => zero_of(low, scale, [first, last]),
    };
    let scale = scale as f32;
    scale.is_finite().then_some((scale, zero_point))
}

/// The zero point of a grid with this scale whose codes begin at `low`, which is not above 0: the nearest one among the
/// codes, halves away from 0.
pub fn zero_of(low: f64, scale: f64, [first, last]: [f64; 2]) -> i32 {
    (first - low / scale).round().clamp(first, last) as i32
}

/// The smallest power of two that is not below a positive number; exact, as no logarithm is.
pub fn next_power_of_two(x: f64) -> f64 {
    match frexp(x) {
        (fraction, exponent) if x.is_finite() && fraction > 0.5 => ldexp(1.0, exponent),
        // It is one, or infinite.
        _ => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_power_of_two_is_exact() {
        for exponent in [-1022, -149, -1, 0, 1, 10, 1000] {
            let power = 2f64.powi(exponent);
            assert_eq!(next_power_of_two(power), power);
            assert_eq!(
                next_power_of_two(power.next_up()),
                2.0 * power,
                "just above 2^{exponent}"
            );
            assert_eq!(next_power_of_two(0.75 * power), power);
        }
        assert_eq!(next_power_of_two(f64::INFINITY), f64::INFINITY);
    }
}
