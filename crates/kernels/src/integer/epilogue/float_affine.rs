use super::Family;
use strait_requantize::form::{self, Arithmetic, Channel};

/// Computes `half_even(f32(x)·factor·scale + offset)`: the forms `FloatZeroInside` and `DequantQuant`. Every operation
/// is rounded to f32.
#[derive(Clone, Copy, Debug)]
pub struct FloatAffine(form::FloatAffine);

impl Family for FloatAffine {
    fn of(channel: &Channel<'_>) -> Option<FloatAffine> {
        match channel.arithmetic() {
            Arithmetic::FloatAffine(constants) => Some(FloatAffine(constants)),
            _ => None,
        }
    }

    #[inline(always)]
    fn lane(&self, accumulator: i32) -> i32 {
        let FloatAffine(c) = self;
        // The conversion saturates to the range of i32. Factor, scale and offset are finite, so there is no NaN.
        (accumulator as f32 * c.factor * c.scale + c.offset).round_ties_even() as i32
    }
}
