/// `half_even(f32(x) * scale) + zero_point`: the arithmetic of `Float`. The conversion to `f32` rounds to the nearest, ties
/// to even, and so does the product. Defined on `i32`, the accumulators of the runtimes that compute so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatProduct {
    /// Factor, finite and positive.
    pub scale: f32,
    /// Added after the rounding, outside of float.
    pub zero_point: i32,
}

impl FloatProduct {
    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        // A product beyond i64, infinity included, saturates; both conversions are monotone.
        let rounded = (x as f32 * self.scale).round_ties_even() as i64;
        rounded.saturating_add(i64::from(self.zero_point))
    }

    /// An accumulator near the first one that reaches `value`: exact but for the two roundings of `wide`.
    pub(in crate::form) fn guess(&self, value: i64) -> i64 {
        ((value as f64 - f64::from(self.zero_point) - 0.5) / f64::from(self.scale)).ceil() as i64
    }

    /// A scale of one keeps what `f32` keeps: integers up to 2^24, more than a type of 16 bits holds.
    pub(in crate::form) fn is_identity(&self, bits: u8) -> bool {
        self.scale == 1.0 && self.zero_point == 0 && bits <= 16
    }
}
