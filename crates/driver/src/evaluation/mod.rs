//! Measures how good the integer model is, side by side with the float model on the same samples.
//!
//! The crate `strait_evaluate` computes the metrics. The module `set` makes them from their keys in the configuration,
//! and checks that the model and the labels have what each metric needs. `side.rs` runs the models. `command.rs` runs
//! the commands that compute a user's own metric. `flips.rs` writes the answers that changed.

mod command;
mod doubts;
mod dump;
mod flips;
mod set;
mod side;
mod tail;

pub(crate) use doubts::{classes, doubts, unexpected};
pub use flips::Changed;
pub(crate) use flips::{FlipsFile, judges as flip_judges};
pub(crate) use set::{Judge, Subject, make_flips, make_judges};
pub use side::Side;
pub(crate) use side::Spaces;
pub(crate) use side::{demand, grid, notes, reals, views, whole_of};
pub(crate) use tail::{NoTail, TAIL_FILE, Tail};
