use super::{Family, domain, saturate};
use strait_requantize::form::{Arithmetic, Channel};

/// Computes `half_even(f32(x)·scale) + zero_point`: the form `Float`. The conversion and the product are rounded to
/// f32.
#[derive(Clone, Copy, Debug)]
pub struct Float {
    scale: f32,
    zero_point: i64,
    domain: [i32; 2],
}

const LIMIT: f32 = (1_u64 << 33) as f32;

impl Family for Float {
    fn of(channel: &Channel<'_>) -> Option<Float> {
        let Arithmetic::Float(f) = channel.arithmetic() else {
            return None;
        };
        Some(Float {
            scale: f.scale,
            zero_point: i64::from(f.zero_point),
            domain: domain(channel),
        })
    }

    #[inline(always)]
    fn lane(&self, accumulator: i32) -> i32 {
        let accumulator = accumulator.max(self.domain[0]).min(self.domain[1]);
        // If the product is beyond ±2^33, the result saturates with any zero point, so the product can be clamped. It
        // is not NaN, because the form's scale is finite.
        let rounded = (accumulator as f32 * self.scale).round_ties_even().clamp(-LIMIT, LIMIT);
        // SAFETY: the clamp leaves only numbers that fit in i64, and the product is not NaN.
        let whole = unsafe { rounded.to_int_unchecked::<i64>() };
        saturate(whole + self.zero_point)
    }
}
