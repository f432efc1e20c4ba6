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
        // If the product is beyond i64 or infinite, it saturates. With a larger accumulator, neither conversion gives a
        // smaller result.
        let rounded = (x as f32 * self.scale).round_ties_even() as i64;
        rounded.saturating_add(i64::from(self.zero_point))
    }

    /// An accumulator near the first one that reaches `value`. It is inexact only because of the two roundings in
    /// `wide`.
    pub(in crate::form) fn guess(&self, value: i64) -> i64 {
        ((value as f64 - f64::from(self.zero_point) - 0.5) / f64::from(self.scale)).ceil() as i64
    }

    /// True if the scale is one and the zero point is 0. Integers up to 2^24 then do not change, which is enough for
    /// types of at most 16 bits.
    pub(in crate::form) fn is_identity(&self, bits: u8) -> bool {
        self.scale == 1.0 && self.zero_point == 0 && bits <= 16
    }
}
