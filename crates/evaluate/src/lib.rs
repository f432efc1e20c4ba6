//! Quality of a model's answers: against labels, and against those of another model on the same samples.
//!
//! A [`Meter`] notes something small of each sample and makes figures of the notes. It is one file of [`metrics`], whose words
//! are [`Metric`]. [`Spread`] says how far a difference can be trusted. Whoever has a model and samples runs the one on the
//! others, and hands over what it [`Seen`]: there are no files here, no configuration and no console.
//!
//! Without the feature `metrics` there are the figures alone, for whoever reads or writes reports.

mod accuracy;
#[cfg(feature = "metrics")]
mod answers;
mod error;
mod interval;
#[cfg(feature = "metrics")]
mod meter;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "metrics")]
mod parts;
mod proportion;
mod resample;
mod words;

pub use accuracy::{Accuracy, Change, Figure, Measured, PartFigure, Unit};
#[cfg(feature = "metrics")]
pub use answers::{Answer, Question};
pub use error::EvaluateError;
pub use interval::Spread;
#[cfg(feature = "metrics")]
pub use meter::{Measure, Meter, MetricFigures, Note, Output, Runs, Seen, floats};
#[cfg(feature = "metrics")]
pub use parts::Parts;
pub use proportion::{Paired, Proportion};
pub use words::{Better, BoxFormat, Metric};
