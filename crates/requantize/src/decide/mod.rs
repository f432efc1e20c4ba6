//! What can be decided about chains of steps on a whole interval of accumulators, without sampling and without a
//! tolerance: one procedure per file.

mod deviation;
mod normal;
pub mod thresholds;
mod verdict;

pub use deviation::{Deviation, compare, deviation, difference, equal_on, verdicts};
pub use thresholds::{Chain, DecideError, MAX_STEPS, Thresholds};
pub use verdict::Verdict;
