//! Measures how good the integer model is, side by side with the float model on the same samples.
//!
//! The crate `strait_evaluate` computes the metrics. The module `set` makes them from their keys in the configuration,
//! and checks that the model and the labels have what each metric needs. `side.rs` runs the models. `command.rs` runs
//! the commands that compute a user's own metric.

mod command;
mod doubts;
mod dump;
mod set;
mod side;

pub(crate) use doubts::{doubts, unexpected};
pub(crate) use set::{Judge, Subject, make_judges};
pub use side::Side;
pub(crate) use side::{grid, notes, reals, views, whole_of};
