/// `half_even(f32(f32(f32(x) * factor) * scale) + offset)`, where every operation is rounded to `f32`. This is the
/// arithmetic of the forms `FloatZeroInside` (with a `scale` of one) and `DequantQuant`. It is defined for all `i32`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatAffine {
    /// The first factor, finite and positive.
    pub factor: f32,
    /// The second factor, finite and positive.
    pub scale: f32,
    /// The number that is added inside the rounding, finite.
    pub offset: f32,
}

impl FloatAffine {
    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        // No operation gives a smaller result for a larger accumulator, and none gives NaN. If the sum is beyond i64 or
        // infinite, it saturates.
        (x as f32 * self.factor * self.scale + self.offset).round_ties_even() as i64
    }

    /// Returns an accumulator near the first one whose result is at least `value`. The returned accumulator can differ
    /// from the first one only because `wide` rounds to `f32`, which is ignored here.
    pub(in crate::form) fn guess(&self, value: i64) -> i64 {
        let product = f64::from(self.factor) * f64::from(self.scale);
        ((value as f64 - 0.5 - f64::from(self.offset)) / product).ceil() as i64
    }

    /// True if both factors are one, the offset is 0, and the output type has at most 16 bits. The arithmetic then does
    /// not change integers up to 2^24, which includes all integers of the type.
    pub(in crate::form) fn is_identity(&self, bits: u8) -> bool {
        self.factor == 1.0 && self.scale == 1.0 && self.offset == 0.0 && bits <= 16
    }
}
