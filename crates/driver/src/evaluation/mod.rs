//! How good the integer model is: top-1 and agreement, float and integer side by side on the same samples.

mod classes;
mod share;
mod tally;

pub use classes::evaluate;
pub use share::{Paired, Share};
pub use tally::{Accuracy, Answer, Tally, Top1};
