//! Finds the scale and the zero point for codes that represent a range of real numbers.

use super::fixed_point::{frexp, ldexp};

/// The smallest scale of a grid. Smaller differences are already lost in the f32 computation before the quantization.
const FINEST: f64 = f32::MIN_POSITIVE as f64;

/// Computes the scale and the zero point with which the codes `[first, last]` cover the range `[low, high]`. The range
/// is first widened to contain zero. Returns `None` if the range is not finite, or if f32 cannot hold the scale.
///
/// - Asymmetric: scale = (high − low) / (last − first), zero point = first − low / scale, rounded half away from zero
///   and clamped to the type. LiteRT's converter does the same.
/// - Symmetric: scale = max(low / first, high / last), zero point 0.
///
/// A range that contains only zero gets the scale 1. With `powers`, the scale is rounded up to a power of two.
pub fn of_range([low, high]: [f32; 2], [first, last]: [f64; 2], symmetric: bool, powers: bool) -> Option<(f32, i32)> {
    let (low, high) = (f64::from(low.min(0.0)), f64::from(high.max(0.0)));
    if !low.is_finite() || !high.is_finite() {
        return None;
    }
    let mut scale = match symmetric {
        // If there are no codes on one side of zero (a symmetric unsigned type), real numbers on this side are ignored.
        // If this is not wanted, the caller has to refuse such a range.
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

/// Computes the zero point of a grid with scale `scale` whose codes begin at the real number `low`, which is at most 0.
/// The zero point is rounded to the nearest code, with ties away from 0.
pub fn zero_of(low: f64, scale: f64, [first, last]: [f64; 2]) -> i32 {
    (first - low / scale).round().clamp(first, last) as i32
}

/// The smallest power of two that is at least a positive number. It is exact, because no logarithm is computed.
pub fn next_power_of_two(x: f64) -> f64 {
    match frexp(x) {
        (fraction, exponent) if x.is_finite() && fraction > 0.5 => ldexp(1.0, exponent),
        // The number itself is a power of two or infinite.
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
