//! The kind of grid that a scheme has, and the grid of this kind that covers a range of real numbers.

use super::{GridKind, SmallFloat};
use strait_core::{Policy, QuantParams, Reason, ReasonCode, Scheme, refused};
use strait_requantize::scales::of_range;

impl GridKind {
    /// The kind of grid of a scheme.
    pub(crate) fn of(scheme: Scheme) -> GridKind {
        let policy = scheme.policy();
        let float = match policy {
            Policy::Floating { format, .. } => Some(SmallFloat::new(
                1 + format.exponent() + format.mantissa(),
                format.exponent(),
            )),
            Policy::Linear { .. } => None,
        };
        GridKind {
            codes: scheme.range().unwrap_or_default(),
            symmetric: policy.is_symmetric(),
            power_of_two: policy.has_powers_of_two(),
            float,
        }
    }
}

/// Computes the grid of `kind` whose codes cover [low, high], by [`of_range`].
///
/// # Errors
/// The range is not finite, or it needs a step that f32 cannot hold. It is also an error if the codes are unsigned with
/// zero point 0, and the range reaches below 0 by at least half a step.
pub(crate) fn grid(kind: GridKind, [low, high]: [f32; 2]) -> Result<QuantParams, Reason> {
    let found = of_range([low, high], kind.ends(), kind.symmetric, kind.power_of_two);
    let Some((scale, zero_point)) = found else {
        let text = match low.is_finite() && high.is_finite() {
            true => format!("[{low}, {high}] needs a step that no f32 holds"),
            false => format!("[{low}, {high}] is no range"),
        };
        return refused(ReasonCode::Range, text);
    };
    let [first, last] = kind.ends();
    if kind.symmetric && first >= 0.0 && low < -scale / 2.0 {
        let text = format!("[{low}, {high}] goes below 0, and codes of [{first}, {last}] with the zero point 0 do not");
        return refused(ReasonCode::Range, text);
    }
    Ok(QuantParams::tensor(scale, zero_point))
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
    fn codes_without_a_sign_and_a_zero_point_hold_nothing_below_0() {
        let unsigned = GridKind {
            codes: [0, 255],
            ..SYMMETRIC
        };
        let found = grid(unsigned, [-0.4, 255.0]).unwrap().as_tensor();
        assert_eq!(found, Some((1.0, 0)));
        let refused = grid(unsigned, [-0.6, 255.0]).unwrap_err();
        assert_eq!(refused.code, ReasonCode::Range);
        assert!(refused.text.contains("goes below 0"), "{}", refused.text);
        let free = GridKind {
            symmetric: false,
            ..unsigned
        };
        assert_eq!(grid(free, [-55.0, 200.0]).unwrap().as_tensor(), Some((1.0, 55)));
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
