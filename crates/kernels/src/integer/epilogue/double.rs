use super::{Epilogue, PerChannel, per_channel, saturate};
use crate::error::KernelError;
use strait_requantize::form::Arithmetic;
use strait_requantize::{
    Requantization,
    form::{Channel, DoubleProduct},
};

/// Computes `half_away(f64(x)·scale) + zero_point`: the form `Float64`.
#[derive(Clone, Debug)]
pub struct Double {
    constants: PerChannel<DoubleConstants>,
}

impl Double {
    /// Makes the epilogue for `form`.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if `form` needs another epilogue, or if its parameters are not legal.
    pub fn new(form: &Requantization) -> Result<Double, KernelError> {
        let constants = per_channel(form, DoubleConstants::new)?;
        Ok(Double { constants })
    }
}

/// The constants of one channel; see [`Double`].
#[derive(Clone, Copy, Debug)]
pub struct DoubleConstants {
    scale: f64,
    zero_point: i64,
    /// The smallest and the largest accumulator of the domain, which are whole numbers of up to 54 bits. For
    /// accumulators in the domain, the result fits in i32 before the zero point is added.
    domain: [f64; 2],
}

impl DoubleConstants {
    pub(crate) fn new(channel: &Channel<'_>) -> Option<DoubleConstants> {
        let Arithmetic::Double(DoubleProduct { scale, zero_point }) = channel.arithmetic() else {
            return None;
        };
        let (low, high) = channel.domain().into_inner();
        Some(DoubleConstants {
            scale,
            zero_point: zero_point.into(),
            domain: [low, high].map(|end| end as f64),
        })
    }

    /// The result for an accumulator, which is given as the nearest f64. Outside of the domain, it is the result at the
    /// nearer end.
    #[inline(always)]
    pub(crate) fn lane(&self, accumulator: f64) -> i32 {
        let product = accumulator.max(self.domain[0]).min(self.domain[1]) * self.scale;
        // Rounds half away from zero. The fractional part `rest` is computed exactly.
        let whole = product.trunc();
        let rest = product - whole;
        let rounded = whole + f64::from(i8::from(rest >= 0.5) - i8::from(rest <= -0.5));
        // The accumulator was limited to the domain, so `rounded` is an i32, and its sum with the zero point fits in
        // i64.
        saturate(rounded as i64 + self.zero_point)
    }
}

impl Epilogue for Double {
    type Constants = DoubleConstants;

    fn constants(&self) -> &PerChannel<DoubleConstants> {
        &self.constants
    }

    #[inline(always)]
    fn lane(&self, c: &DoubleConstants, accumulator: i32) -> i32 {
        c.lane(f64::from(accumulator))
    }
}
