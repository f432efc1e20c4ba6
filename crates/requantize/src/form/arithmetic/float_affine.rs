/// `half_even(f32(f32(f32(x) * factor) * scale) + offset)`, every operation rounded to `f32`: the arithmetic of
/// `FloatZeroInside` (where `scale` is one) and `DequantQuant`. Defined on `i32`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatAffine {
    /// First factor, finite and positive.
    pub factor: f32,
    /// Second factor, finite and positive.
    pub scale: f32,
    /// Added inside of the rounding, finite.
    pub offset: f32,
}

impl FloatAffine {
    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        // Every operation is monotone and none gives NaN; a value beyond i64, infinity included, saturates.
        (x as f32 * self.factor * self.scale + self.offset).round_ties_even() as i64
    }

    /// An accumulator near the first one that reaches `value`: exact but for the roundings of `wide`.
    pub(in crate::form) fn guess(&self, value: i64) -> i64 {
        let product = f64::from(self.factor) * f64::from(self.scale);
        ((value as f64 - 0.5 - f64::from(self.offset)) / product).ceil() as i64
    }

    /// Factors of one and no offset keep what `f32` keeps: integers up to 2^24, more than a type of 16 bits holds.
    pub(in crate::form) fn is_identity(&self, bits: u8) -> bool {
        self.factor == 1.0 && self.scale == 1.0 && self.offset == 0.0 && bits <= 16
    }
}
