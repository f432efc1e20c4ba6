//! From a range of real numbers to the grid that covers it.

use crate::observers::GridKind;
use strait_core::{QuantParams, Reason, ReasonCode};
use strait_requantize::scales::fixed_point::{frexp, ldexp};

/// Below this step a grid resolves nothing that an f32 computation upstream had not already lost.
const FINEST: f64 = f32::MIN_POSITIVE as f64;

/// The grid of `kind` whose codes cover [low, high], widened to hold zero.
///
/// Asymmetric: scale = (high − low) / (q_max − q_min), zero point = q_min − low / scale, rounded half away from zero and
/// kept in the type (as LiteRT's converter nudges it). Symmetric: scale = max(−low / −q_min, high / q_max), zero
/// point 0. A range of nothing but zero gets scale 1.
///
/// # Errors
/// A range that is not finite.
pub fn grid(kind: GridKind, [low, high]: [f32; 2]) -> Result<QuantParams, Reason> {
    let (low, high) = (f64::from(low.min(0.0)), f64::from(high.max(0.0)));
    if !low.is_finite() || !high.is_finite() {
        return Err(Reason::new(ReasonCode::Range, format!("[{low}, {high}] is no range")));
    }
    let [first, last] = kind.ends();
    let mut scale = match kind.symmetric {
        // A side without codes (a symmetric unsigned type) can hold no real numbers either.
        true => (high / last).max(if first < 0.0 { low / first } else { 0.0 }),
        false => (high - low) / (last - first),
    };
    if low == 0.0 && high == 0.0 {
        scale = 1.0;
    }
    scale = scale.max(FINEST);
    if kind.power_of_two {
        scale = power_of_two(scale);
    }
    let zero_point = if kind.symmetric {
        0.0
    } else {
        (first - low / scale).round().clamp(first, last)
    };
    let scale = scale as f32;
    if !scale.is_finite() {
        return Err(Reason::new(
            ReasonCode::Range,
            format!("[{low}, {high}] needs a step that no f32 holds"),
        ));
    }
    Ok(QuantParams::tensor(scale, zero_point as i32))
}

/// The smallest power of two that is not below a positive number; exact, as no logarithm is.
pub(super) fn power_of_two(x: f64) -> f64 {
    match frexp(x) {
        (fraction, exponent) if x.is_finite() && fraction > 0.5 => ldexp(1.0, exponent),
        // It is one, or infinite.
        _ => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASYMMETRIC: GridKind = GridKind {
        codes: [-128, 127],
        symmetric: false,
        power_of_two: false,
        float: None,
    };
    const SYMMETRIC: GridKind = GridKind {
        codes: [-127, 127],
        symmetric: true,
        power_of_two: false,
        float: None,
    };
    const POWER: GridKind = GridKind {
        power_of_two: true,
        ..SYMMETRIC
    };

    #[test]
    fn ranges_become_grids() {
        for (kind, range, scale, zero) in [
            (ASYMMETRIC, [0.0, 255.0], 1.0, -128),
            (ASYMMETRIC, [-1.0, 1.0], 2.0 / 255.0, -1),
            (ASYMMETRIC, [3.0, 5.1], 0.02, -128),
            (ASYMMETRIC, [-2.55, -1.0], 0.01, 127),
            (ASYMMETRIC, [0.0, 0.0], 1.0, -128),
            (SYMMETRIC, [-1.0, 12.7], 0.1, 0),
            (SYMMETRIC, [-254.0, 1.0], 2.0, 0),
            (POWER, [-1.0, 100.0], 1.0, 0),
            (POWER, [-1.0, 128.0], 2.0, 0),
        ] {
            let found = grid(kind, range).unwrap().as_tensor().unwrap();
            assert_eq!(found, (scale, zero), "{kind:?} {range:?}");
        }
    }

    #[test]
    fn the_next_power_of_two_is_exact() {
        for exponent in [-1022, -149, -1, 0, 1, 10, 1000] {
            let power = 2f64.powi(exponent);
            assert_eq!(power_of_two(power), power);
            assert_eq!(power_of_two(power.next_up()), 2.0 * power, "just above 2^{exponent}");
            assert_eq!(power_of_two(0.75 * power), power);
        }
        assert_eq!(power_of_two(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn extreme_ranges_have_a_finite_positive_scale_or_none() {
        for range in [[0.0, 1e-44], [-1e-30, 1e-30], [f32::MIN, f32::MAX]] {
            for kind in [ASYMMETRIC, SYMMETRIC, POWER] {
                let (scale, _) = grid(kind, range).unwrap().as_tensor().unwrap();
                assert!(scale.is_normal(), "{range:?}: {scale}");
            }
        }
        assert!(grid(ASYMMETRIC, [0.0, f32::INFINITY]).is_err());
        assert!(grid(ASYMMETRIC, [f32::NAN, f32::NAN]).is_ok_and(|g| g.as_tensor() == Some((1.0, -128))));
    }
}
