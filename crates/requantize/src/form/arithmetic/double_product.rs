use crate::Rounding;
use std::ops::RangeInclusive;

/// `half_away(f64(x) * scale) + zero_point`: the arithmetic of `Float64`. The product rounds to the nearest, ties to even.
/// Defined where `f64(x)` is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubleProduct {
    /// Factor, finite and positive.
    pub scale: f64,
    /// Added after the rounding, outside of float.
    pub zero_point: i32,
}

impl DoubleProduct {
    /// Accumulators that are an `f64` each.
    pub(in crate::form) fn domain(&self) -> RangeInclusive<i64> {
        -(1 << 53)..=1 << 53
    }

    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        // A product beyond i64, infinity included, saturates; all steps are monotone.
        let rounded = Rounding::HalfAway.round_f64(x as f64 * self.scale) as i64;
        rounded.saturating_add(i64::from(self.zero_point))
    }

    /// An accumulator near the first one that reaches `value`: exact but for two roundings of `f64`.
    pub(in crate::form) fn guess(&self, value: i64) -> i64 {
        ((value as f64 - f64::from(self.zero_point) - 0.5) / self.scale).ceil() as i64
    }

    /// A scale of one keeps every accumulator.
    pub(in crate::form) fn is_identity(&self) -> bool {
        self.scale == 1.0 && self.zero_point == 0
    }
}
