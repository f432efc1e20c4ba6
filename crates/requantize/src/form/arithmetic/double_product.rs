use crate::Rounding;
use std::ops::RangeInclusive;

/// `half_away(f64(x) * scale) + zero_point`: the arithmetic of `Float64`. The product is rounded to the nearest, ties
/// to even. It is defined where `f64(x)` is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubleProduct {
    /// The factor, finite and positive.
    pub scale: f64,
    /// Added after the rounding, in integers.
    pub zero_point: i32,
}

impl DoubleProduct {
    /// The accumulators that are exact in `f64`.
    pub(in crate::form) fn domain(&self) -> RangeInclusive<i64> {
        -(1 << 53)..=1 << 53
    }

    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        // A product beyond i64, infinity included, saturates. No step decreases.
        let rounded = Rounding::HalfAway.round_f64(x as f64 * self.scale) as i64;
        rounded.saturating_add(i64::from(self.zero_point))
    }

    /// An accumulator near the first one that reaches `value`. It is exact except for two roundings of `f64`.
    pub(in crate::form) fn guess(&self, value: i64) -> i64 {
        ((value as f64 - f64::from(self.zero_point) - 0.5) / self.scale).ceil() as i64
    }

    /// True for a scale of one, which leaves every accumulator as it is.
    pub(in crate::form) fn is_identity(&self) -> bool {
        self.scale == 1.0 && self.zero_point == 0
    }
}
