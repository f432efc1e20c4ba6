use crate::Rounding;
use std::ops::RangeInclusive;

/// `half_away(f64(x) * scale) + zero_point`: the arithmetic of the form `Float64`. The product is rounded to the
/// nearest `f64`, ties to even. The arithmetic is defined for accumulators for which `f64(x)` is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubleProduct {
    /// The factor, finite and positive.
    pub scale: f64,
    /// The number that is added after the rounding, in integers.
    pub zero_point: i32,
}

impl DoubleProduct {
    /// The accumulators that are exact in `f64`.
    pub(in crate::form) fn domain(&self) -> RangeInclusive<i64> {
        -(1 << 53)..=1 << 53
    }

    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        // If the product is beyond i64 or infinite, it saturates. The function stays monotone, because no operation
        // here gives a smaller result for a larger accumulator.
        let rounded = Rounding::HalfAway.round_f64(x as f64 * self.scale) as i64;
        rounded.saturating_add(i64::from(self.zero_point))
    }

    /// Returns an accumulator near the first one whose result is at least `value`. The returned accumulator can differ
    /// from the first one only because of two roundings to `f64`.
    pub(in crate::form) fn guess(&self, value: i64) -> i64 {
        ((value as f64 - f64::from(self.zero_point) - 0.5) / self.scale).ceil() as i64
    }

    /// True if the scale is one and the zero point is 0, so that no accumulator changes.
    pub(in crate::form) fn is_identity(&self) -> bool {
        self.scale == 1.0 && self.zero_point == 0
    }
}
