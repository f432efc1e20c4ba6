use super::{Epilogue, PerChannel, per_channel};
use crate::error::KernelError;
use strait_requantize::{Requantization, form::Arithmetic};

/// Computes `half_even(f32(x)·factor·scale + offset)`: the forms `FloatZeroInside` and `DequantQuant`. Every operation
/// is rounded to f32.
#[derive(Clone, Debug)]
pub struct FloatAffine {
    constants: PerChannel<FloatAffineConstants>,
}

/// The constants of one channel; see [`FloatAffine`].
#[derive(Clone, Copy, Debug)]
pub struct FloatAffineConstants {
    factor: f32,
    scale: f32,
    offset: f32,
}

impl FloatAffine {
    /// Makes the epilogue for `form`.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if `form` needs another epilogue, or if its parameters are not legal.
    pub fn new(form: &Requantization) -> Result<FloatAffine, KernelError> {
        let constants = per_channel(form, |channel| match channel.arithmetic() {
            Arithmetic::FloatAffine(f) => Some(FloatAffineConstants {
                factor: f.factor,
                scale: f.scale,
                offset: f.offset,
            }),
            _ => None,
        })?;
        Ok(FloatAffine { constants })
    }
}

impl Epilogue for FloatAffine {
    type Constants = FloatAffineConstants;

    fn constants(&self) -> &PerChannel<FloatAffineConstants> {
        &self.constants
    }

    #[inline(always)]
    fn lane(&self, c: &FloatAffineConstants, accumulator: i32) -> i32 {
        // The conversion saturates at the ends of i32. Factor, scale and offset are finite, so there is no NaN.
        (accumulator as f32 * c.factor * c.scale + c.offset).round_ties_even() as i32
    }
}
