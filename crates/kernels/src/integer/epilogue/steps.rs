use super::{Epilogue, PerChannel, per_channel};
use crate::error::KernelError;
use strait_requantize::{Requantization, form, form::Arithmetic};

/// Computes `lowest + #{t in thresholds : t ≤ x}`: the form `Steps`.
#[derive(Clone, Debug)]
pub struct Steps {
    constants: PerChannel<Thresholds>,
    lowest: i32,
}

/// The thresholds of a channel, padded with `i32::MAX`, and their number.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    sorted: [i32; PADDED],
    count: i32,
}

/// Number of thresholds with padding. It is a power of two, and results of 8 bits need at most 255 thresholds.
const PADDED: usize = 256;

impl Steps {
    /// Makes the epilogue for `form`.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if `form` needs another epilogue, or if its parameters are not legal.
    pub fn new(form: &Requantization) -> Result<Steps, KernelError> {
        let Requantization::Steps(form::Steps { lowest, .. }) = form else {
            return Err(KernelError::Requantization(format!(
                "{} has no thresholds",
                form.kind()
            )));
        };
        let constants = per_channel(form, |channel| match channel.arithmetic() {
            Arithmetic::Steps(steps) if steps.thresholds.len() < PADDED => {
                let mut sorted = [i32::MAX; PADDED];
                sorted[..steps.thresholds.len()].copy_from_slice(steps.thresholds);
                // The number of thresholds is below 256.
                Some(Thresholds {
                    sorted,
                    count: steps.thresholds.len() as i32,
                })
            }
            _ => None,
        })?;
        Ok(Steps {
            constants,
            lowest: *lowest,
        })
    }
}

impl Epilogue for Steps {
    type Constants = Thresholds;

    fn constants(&self) -> &PerChannel<Thresholds> {
        &self.constants
    }

    #[inline(always)]
    fn lane(&self, list: &Thresholds, x: i32) -> i32 {
        let Thresholds { sorted, count } = list;
        // A bisection in eight steps, always the same. It counts padding only if x = i32::MAX.
        let mut passed = 0;
        let mut step = PADDED / 2;
        while step > 0 {
            passed += if sorted[passed + step - 1] <= x { step } else { 0 };
            step /= 2;
        }
        // `passed` is below 256.
        self.lowest + (passed as i32).min(*count)
    }
}
