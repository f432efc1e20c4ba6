use super::{Epilogue, PerChannel, affine::Correction, per_channel};
use crate::error::KernelError;
use strait_requantize::{Requantization, form::Arithmetic};

/// Computes `round(x / 2^shift)` in i32: the form `ArithFolded`, with every rounding, for shifts up to 30.
#[derive(Clone, Debug)]
pub struct Shift {
    constants: PerChannel<ShiftConstants>,
}

/// The constants of one channel. With x = q·2^s + r and 0 ≤ r < 2^s, round(x / 2^s) = q + ((r + base + (negative if x <
/// 0) + (even if q is odd)) >> s) + after. The corrections are those in the table of
/// [`AffineConstants`](super::affine::AffineConstants). No step leaves i32.
#[derive(Clone, Copy, Debug)]
pub struct ShiftConstants {
    shift: u32,
    mask: i32,
    base: i32,
    negative: i32,
    even: i32,
    after: i32,
}

impl Shift {
    /// Makes the epilogue for `form`.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if `form` needs another epilogue, if it has a factor, an addend, a zero point or
    /// a shift above 30, or if its parameters are not legal.
    pub fn new(form: &Requantization) -> Result<Shift, KernelError> {
        let constants = per_channel(form, |channel| match channel.arithmetic() {
            Arithmetic::Affine(a) if (a.factor, a.addend, a.zero_point) == (1, 0, 0) && a.shift <= 30 => {
                let shift = u32::from(a.shift);
                let Correction {
                    base,
                    negative,
                    even,
                    after,
                } = Correction::new(a.rounding, shift);
                // For shifts up to 30, these constants are at most 2^30 − 1, so the casts lose nothing.
                let [base, negative, even, after] = [base, negative, even, after].map(|c| c as i32);
                Some(ShiftConstants {
                    shift,
                    mask: (1 << shift) - 1,
                    base,
                    negative,
                    even,
                    after,
                })
            }
            _ => None,
        })?;
        Ok(Shift { constants })
    }
}

impl Epilogue for Shift {
    type Constants = ShiftConstants;

    fn constants(&self) -> &PerChannel<ShiftConstants> {
        &self.constants
    }

    #[inline(always)]
    fn lane(&self, c: &ShiftConstants, x: i32) -> i32 {
        let quotient = x >> c.shift;
        let correction = c.base + (c.negative & (x >> 31)) + (c.even & quotient);
        quotient + (((x & c.mask) + correction) >> c.shift) + c.after
    }
}
