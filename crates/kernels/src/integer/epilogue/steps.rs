use super::{Epilogue, PerChannel, per_channel};
use crate::error::KernelError;
use strait_requantize::{Requantization, form::Arithmetic};

/// `lowest + #{t in thresholds : t ≤ x}`: `Steps`.
#[derive(Clone, Debug)]
pub struct Steps {
    lists: PerChannel<Thresholds>,
    lowest: i32,
}

/// A channel's thresholds, padded with `i32::MAX`, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    sorted: [i32; PADDED],
    count: i32,
}

/// A power of two above the at most 255 thresholds into 8 bits.
const PADDED: usize = 256;

impl Steps {
    /// The epilogue of a form of this family.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] for another form, or one whose parameters are not legal.
    pub fn new(form: &Requantization) -> Result<Steps, KernelError> {
        let Requantization::Steps { lowest, .. } = form else {
            return Err(KernelError::Requantization(format!(
                "{} has no thresholds",
                form.kind()
            )));
        };
        let lists = per_channel(form, |arithmetic| match arithmetic {
            Arithmetic::Steps(steps) if steps.thresholds.len() < PADDED => {
                let mut sorted = [i32::MAX; PADDED];
                sorted[..steps.thresholds.len()].copy_from_slice(steps.thresholds);
                // Below 256.
                Some(Thresholds {
                    sorted,
                    count: steps.thresholds.len() as i32,
                })
            }
            _ => None,
        })?;
        Ok(Steps { lists, lowest: *lowest })
    }
}

impl Epilogue for Steps {
    /// The channel.
    type Constants = usize;

    fn channels(&self) -> Option<usize> {
        self.lists.channels()
    }

    #[inline(always)]
    fn constants(&self, channel: usize) -> usize {
        channel
    }

    #[inline(always)]
    fn lane(&self, channel: usize, x: i32) -> i32 {
        let Thresholds { sorted, count } = self.lists.at(channel);
        // Bisection with eight fixed steps. Of the padding it can pass some only for x = i32::MAX.
        let mut passed = 0;
        let mut step = PADDED / 2;
        while step > 0 {
            passed += if sorted[passed + step - 1] <= x { step } else { 0 };
            step /= 2;
        }
        // Below 256.
        self.lowest + (passed as i32).min(*count)
    }
}
