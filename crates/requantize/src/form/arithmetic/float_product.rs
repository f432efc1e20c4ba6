/// `half_even(f32(x) * scale) + zero_point`: the arithmetic of the form `Float`. The conversion to `f32` and the
/// product are rounded to the nearest, ties to even. The arithmetic is defined for all `i32`, because runtimes that
/// compute in this way have `i32` accumulators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatProduct {
    /// The factor, finite and positive.
    pub scale: f32,
    /// The number that is added after the rounding, in integers.
    pub zero_point: i32,
}

impl FloatProduct {
    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        // If the product is beyond i64 or infinite, it saturates. The function stays monotone, because no operation
        // here gives a smaller result for a larger accumulator.
        let rounded = (x as f32 * self.scale).round_ties_even() as i64;
        rounded.saturating_add(i64::from(self.zero_point))
    }

    /// Returns an accumulator near the first one whose result is at least `value`. The returned accumulator can differ
    /// from the first one only because `wide` rounds to `f32` twice, which is ignored here.
    pub(in crate::form) fn guess(&self, value: i64) -> i64 {
        ((value as f64 - f64::from(self.zero_point) - 0.5) / f64::from(self.scale)).ceil() as i64
    }

    /// True if the scale is one, the zero point is 0, and the output type has at most 16 bits. The arithmetic then does
    /// not change integers up to 2^24, which includes all integers of the type.
    pub(in crate::form) fn is_identity(&self, bits: u8) -> bool {
        self.scale == 1.0 && self.zero_point == 0 && bits <= 16
    }
}
