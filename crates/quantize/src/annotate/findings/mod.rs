//! Finds grids that cost accuracy in an annotated graph.

mod effect;
mod found;
mod given_away;
mod noise;
mod requantized;
mod rule_ranges;
mod unlike;

pub(crate) use effect::heard;
pub use found::Findings;
pub use given_away::{GivenAway, Loss};
pub use requantized::{Requantized, RequantizedLoss, requantized};
pub(crate) use rule_ranges::rule_ranges;
pub use rule_ranges::{RuleRange, Unfitting};
pub use unlike::{PartKind, Unlike, UnlikePart};
