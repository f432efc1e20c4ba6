use super::{Epilogue, PerChannel, domain, per_channel, saturate};
use crate::error::KernelError;
use strait_requantize::{Requantization, Rounding, form::Arithmetic};

/// Multiplies, shifts and rounds twice: first half up, by 31 bits, and then half away from zero. It computes `Gemmlowp`
/// with a right shift, and TOSA's double rounding.
#[derive(Clone, Debug)]
pub struct Doubling {
    constants: PerChannel<DoublingConstants>,
}

/// The constants of one channel. Both roundings together are one shift of p = x·factor + addend: (p + 2^(shift−1) ±
/// 2^30) >> shift, with + for p ≥ 0. A channel that rounds only once, half up, leaves out the 2^30.
#[derive(Clone, Copy, Debug)]
pub struct DoublingConstants {
    factor: i32,
    addend: i64,
    /// The number that is added to every product.
    nudge: i64,
    /// The number that is subtracted again if the product is negative.
    negative: i64,
    shift: u32,
    zero_point: i64,
    domain: [i32; 2],
}

impl Doubling {
    /// Makes the epilogue for `form`.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if `form` needs another epilogue, or if its parameters are not legal.
    pub fn new(form: &Requantization) -> Result<Doubling, KernelError> {
        let constants = per_channel(form, |channel| match channel.arithmetic() {
            Arithmetic::Doubling(d) => Some(DoublingConstants {
                factor: d.factor,
                addend: d.addend,
                nudge: (1 << (d.shift - 1)) + (1 << 30),
                negative: -(1 << 31),
                shift: d.shift.into(),
                zero_point: d.zero_point.into(),
                domain: domain(channel),
            }),
            Arithmetic::Affine(a) if a.rounding == Rounding::HalfUp => Some(DoublingConstants {
                factor: a.factor,
                addend: a.addend,
                nudge: (1 << a.shift) >> 1,
                negative: 0,
                shift: a.shift.into(),
                zero_point: a.zero_point.into(),
                domain: domain(channel),
            }),
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
        let accumulator = accumulator.max(c.domain[0]).min(c.domain[1]);
        let product = i64::from(accumulator) * i64::from(c.factor) + c.addend;
        let nudge = c.nudge + (c.negative & (product >> 63));
        saturate(((product + nudge) >> c.shift) + c.zero_point)
    }
}
