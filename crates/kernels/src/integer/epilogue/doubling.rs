use super::{Epilogue, PerChannel, domain, per_channel, saturate};
use crate::error::KernelError;
use strait_requantize::{Requantization, form::Arithmetic};

/// Multiply and shift with two roundings, the first half up by 31 bits, the second half away from zero: `Gemmlowp`.
#[derive(Clone, Debug)]
pub struct Doubling {
    constants: PerChannel<DoublingConstants>,
}

/// See [`Doubling`].
#[derive(Clone, Copy, Debug)]
pub struct DoublingConstants {
    multiplier: i32,
    left_shift: u32,
    right_shift: u32,
    /// Half of 2^right_shift, and −1 where that is not 0: subtracted for negative values, as in half away.
    half: i64,
    negative: i64,
    zero_point: i64,
    domain: [i32; 2],
}

impl Doubling {
    /// The epilogue of a form of this family.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] for another form, or one whose parameters are not legal.
    pub fn new(form: &Requantization) -> Result<Doubling, KernelError> {
        let constants = per_channel(form, |channel| match channel.arithmetic() {
            Arithmetic::Doubling(d) => {
                let right_shift = u32::from(d.right_shift);
                Some(DoublingConstants {
                    multiplier: d.multiplier,
                    left_shift: u32::from(d.left_shift),
                    right_shift,
                    half: (1 << right_shift) >> 1,
                    negative: if right_shift == 0 { 0 } else { -1 },
                    zero_point: i64::from(d.zero_point),
                    domain: domain(channel),
                })
            }
            _ => None,
        })?;
        Ok(Doubling { constants })
    }
}

impl Epilogue for Doubling {
    type Constants = DoublingConstants;

    fn constants(&self) -> &PerChannel<DoublingConstants> {
        &self.constants
    }

    #[inline(always)]
    fn lane(&self, c: &DoublingConstants, accumulator: i32) -> i32 {
        // Inside the form's domain the shifted accumulator is an i32.
        let shifted = accumulator.max(c.domain[0]).min(c.domain[1]) << c.left_shift;
        let product = i64::from(shifted) * i64::from(c.multiplier);
        let high = (product + (1 << 30)) >> 31;
        saturate(((high + c.half + (c.negative & (high >> 63))) >> c.right_shift) + c.zero_point)
    }
}
