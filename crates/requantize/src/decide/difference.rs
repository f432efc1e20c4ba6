//! The difference of two functions on an interval: how large it is, and for how many accumulators.

/// The difference of two functions on all integers of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The largest difference, in units of the result.
    pub max_lsb: u32,
    /// The smallest accumulator at which the functions differ by `max_lsb`. If the functions are equal, this is the
    /// lower end of the interval.
    pub witness: i64,
    /// The number of accumulators at which the functions differ.
    pub differing: u128,
    /// The number of accumulators in the interval.
    pub of: u128,
}

impl Deviation {
    /// The result for two functions that are equal on the integers from `low` to `high`.
    pub(super) fn none((low, high): (i64, i64)) -> Self {
        Deviation {
            max_lsb: 0,
            witness: low,
            differing: 0,
            of: u128::from(high.abs_diff(low)) + 1,
        }
    }

    /// Adds `count` neighbouring accumulators, beginning at `from`, at which the functions differ by `lsb`. Stretches
    /// must be added in rising order of `from`.
    pub(crate) fn add(&mut self, lsb: u32, from: i64, count: u128) {
        if lsb > 0 {
            self.differing += count;
        }
        if lsb > self.max_lsb {
            (self.max_lsb, self.witness) = (lsb, from);
        }
    }

    /// The share of the interval's integers at which the functions differ.
    pub fn share(&self) -> f64 {
        self.differing as f64 / self.of as f64
    }
}
