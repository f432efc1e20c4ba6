//! Quality of the integer model: float and integer side by side on the same samples.
//!
//! A metric (`meter.rs`) notes something small of each sample and makes a figure of the notes. It is one file of
//! `metrics`; `set.rs` makes it from its key in the configuration, and holds what it needs against model and labels.
//! `interval.rs` says how far a difference can be trusted.

mod accuracy;
mod answers;
mod command;
mod doubts;
mod dump;
mod interval;
mod meter;
mod metrics;
mod parts;
mod resample;
mod set;
mod share;
mod side;

pub use accuracy::{Accuracy, Change, Figure, Measured, PartFigure, Unit};
pub use answers::Asked;
pub(crate) use doubts::{doubts, unexpected};
pub use meter::Output;
pub(crate) use meter::{Measure, Note, floats};
pub(crate) use metrics::nearness::ratio;
pub(crate) use parts::Parts;
pub(crate) use set::{Subject, measures};
pub use share::{Paired, Share};
pub use side::Side;
pub(crate) use side::{grid, notes, reals, views};
