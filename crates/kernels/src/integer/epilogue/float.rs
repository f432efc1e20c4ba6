use super::{Epilogue, PerChannel, domain, per_channel, saturate};
use crate::error::KernelError;
use strait_requantize::{Requantization, form::Arithmetic};

/// Computes `half_even(f32(x)·scale) + zero_point`: the form `Float`. The conversion and the product are rounded to
/// f32.
#[derive(Clone, Debug)]
pub struct Float {
    constants: PerChannel<FloatConstants>,
}

impl Float {
    /// Makes the epilogue for `form`.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if `form` needs another epilogue, or if its parameters are not legal.
    pub fn new(form: &Requantization) -> Result<Float, KernelError> {
        let constants = per_channel(form, |channel| match channel.arithmetic() {
            Arithmetic::Float(f) => Some(FloatConstants {
                scale: f.scale,
                zero_point: i64::from(f.zero_point),
                domain: domain(channel),
            }),
            _ => None,
        })?;
        Ok(Float { constants })
    }
}

const LIMIT: f32 = (1_u64 << 33) as f32;

/// The constants of one channel; see [`Float`].
#[derive(Clone, Copy, Debug)]
pub struct FloatConstants {
    scale: f32,
    zero_point: i64,
    domain: [i32; 2],
}

impl Epilogue for Float {
    type Constants = FloatConstants;

    fn constants(&self) -> &PerChannel<FloatConstants> {
        &self.constants
    }

    #[inline(always)]
    fn lane(&self, c: &FloatConstants, accumulator: i32) -> i32 {
        let accumulator = accumulator.max(c.domain[0]).min(c.domain[1]);
        // If the product is beyond ±2^33, the result saturates for any zero point. The form's scale is finite, so there
        // is no NaN.
        let rounded = (accumulator as f32 * c.scale).round_ties_even().clamp(-LIMIT, LIMIT);
        // SAFETY: the clamp leaves only numbers that fit in i64, and the product is not NaN.
        let whole = unsafe { rounded.to_int_unchecked::<i64>() };
        saturate(whole + c.zero_point)
    }
}
