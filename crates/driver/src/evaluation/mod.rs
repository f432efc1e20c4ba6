//! Accuracy of the integer model: top-1 and agreement, float and integer side by side on the same samples.

mod accuracy;
mod answers;
mod doubts;
mod share;

pub use accuracy::{Accuracy, Simulated, Top1};
pub(crate) use answers::views;
pub use answers::{Answer, Asked, Side, answers, asked};
pub(crate) use doubts::doubts;
pub use share::{Paired, Share};
