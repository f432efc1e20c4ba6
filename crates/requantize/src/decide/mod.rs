//! Procedures that compare chains of requantizations, or replace them by other forms. Their answers hold for all
//! accumulators of an interval. The procedures are exact and use no samples. There is one procedure in each file.

mod activation;
mod best;
mod compose;
mod deviation;
mod difference;
mod exact;
mod gain;
mod ideal;
mod lines;
mod normal;
pub mod thresholds;
mod verdict;
mod weaken;

pub use activation::{Activation, Behind, move_behind};
pub use best::{Best, BestError, Limits, Optimality, best};
pub use compose::{compose, compose_steps};
pub(crate) use deviation::listed;
pub use deviation::{compare, deviation, difference, equal_on, verdicts};
pub use difference::Deviation;
pub use exact::{exact_addends, exact_factors};
pub use gain::{Gain, gain};
pub use ideal::{Grids, Ideal};
pub use thresholds::{Chain, DecideError, MAX_STEPS, Thresholds};
pub use verdict::Verdict;
pub use weaken::{Wanted, weaken};
