use super::Family;
use strait_requantize::form::{Arithmetic, Channel};

/// Computes `lowest + #{t in thresholds : t ≤ x}`: the form `Steps`.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// The thresholds of the channel, padded with `i32::MAX`.
    sorted: [i32; PADDED],
    /// The number of thresholds without padding.
    count: i32,
    lowest: i32,
}

/// Number of thresholds with padding. It is a power of two, and results of 8 bits need at most 255 thresholds.
const PADDED: usize = 256;

impl Family for Steps {
    fn of(channel: &Channel<'_>) -> Option<Steps> {
        match channel.arithmetic() {
            Arithmetic::Steps(steps) if steps.thresholds.len() < PADDED => {
                let mut sorted = [i32::MAX; PADDED];
                sorted[..steps.thresholds.len()].copy_from_slice(steps.thresholds);
                Some(Steps {
                    sorted,
                    // The number of thresholds is below 256.
                    count: steps.thresholds.len() as i32,
                    lowest: steps.lowest,
                })
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn lane(&self, x: i32) -> i32 {
        // A bisection in eight steps, always the same. It counts padding only if x = i32::MAX.
        let mut passed = 0;
        let mut step = PADDED / 2;
        while step > 0 {
            passed += if self.sorted[passed + step - 1] <= x { step } else { 0 };
            step /= 2;
        }
        // `passed` is below 256.
        self.lowest + (passed as i32).min(self.count)
    }
}
