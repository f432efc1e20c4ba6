use super::{Epilogue, PerChannel, per_channel, saturate};
use crate::error::KernelError;
use strait_requantize::{Requantization, form::Arithmetic};

/// `half_even(f32(x)·scale) + zero_point`, conversion and product rounded to f32: `Float`.
#[derive(Clone, Debug)]
pub struct Float {
    scale: PerChannel<f32>,
    zero_point: i32,
}

impl Float {
    /// The epilogue of a form of this family.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] for another form, or one whose parameters are not legal.
    pub fn new(form: &Requantization) -> Result<Float, KernelError> {
        let scale = per_channel(form, |arithmetic| match arithmetic {
            Arithmetic::Float(f) => Some(f.scale),
            _ => None,
        })?;
        let zero_point = per_channel(form, |arithmetic| match arithmetic {
            Arithmetic::Float(f) => Some(f.zero_point),
            _ => None,
        })?;
        // A form has one zero point.
        Ok(Float {
            scale,
            zero_point: zero_point.get(0),
        })
    }
}

const LIMIT: f32 = (1_u64 << 33) as f32;

/// Scale and zero point.
type FloatConstants = (f32, i32);

impl Epilogue for Float {
    type Constants = FloatConstants;

    fn channels(&self) -> Option<usize> {
        self.scale.channels()
    }

    #[inline(always)]
    fn constants(&self, channel: usize) -> FloatConstants {
        (self.scale.get(channel), self.zero_point)
    }

    #[inline(always)]
    fn lane(&self, (scale, zero_point): FloatConstants, accumulator: i32) -> i32 {
        // Beyond ±2^33 any zero point leaves the sum outside of i32. The form's scale is finite: no NaN.
        let rounded = (accumulator as f32 * scale).round_ties_even().clamp(-LIMIT, LIMIT);
        saturate(rounded as i64 + i64::from(zero_point))
    }
}
