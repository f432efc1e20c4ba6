//! Quality of the integer model: float and integer side by side on the same samples.
//!
//! `strait_evaluate` has the metrics. `set` makes them from their keys in the configuration, and holds what they need against
//! model and labels; `side.rs` runs the models; `command.rs` starts what computes a metric of the user's own.

mod command;
mod doubts;
mod dump;
mod set;
mod side;

pub(crate) use doubts::{doubts, unexpected};
pub(crate) use set::{Judge, Subject, judges};
pub use side::Side;
pub(crate) use side::{grid, notes, reals, views, whole_of};
