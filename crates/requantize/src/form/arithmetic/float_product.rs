/// `half_even(f32(x) * scale) + zero_point`: the arithmetic of `Float`. The conversion to `f32` and the product are
/// rounded to the nearest, ties to even. It is defined on `i32`, the accumulator type of the runtimes that compute like
/// this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatProduct {
    /// The factor, finite and positive.
    pub scale: f32,
    /// Added after the rounding, in integers.
    pub zero_point: i32,
}

impl FloatProduct {
    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        // A product beyond i64, infinity included, saturates. Neither conversion decreases.
        let rounded = (x as f32 * self.scale).round_ties_even() as i64;
        rounded.saturating_add(i64::from(self.zero_point))
    }

    /// An accumulator near the first one that reaches `value`. It is exact except for the two roundings of `wide`.
    pub(in crate::form) fn guess(&self, value: i64) -> i64 {
        ((value as f64 - f64::from(self.zero_point) - 0.5) / f64::from(self.scale)).ceil() as i64
    }

    /// True for a scale of one. It leaves integers up to 2^24 as they are, which is enough for types of at most 16
    /// bits.
    pub(in crate::form) fn is_identity(&self, bits: u8) -> bool {
        self.scale == 1.0 && self.zero_point == 0 && bits <= 16
    }
}
