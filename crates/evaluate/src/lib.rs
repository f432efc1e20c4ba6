//! Measures how good a model's answers are, against labels and against another model on the same samples.
//!
//! A [`Meter`] computes one metric: it keeps a small note of each sample, and computes figures from the notes. Each
//! metric has a file in [`metrics`] and a word in [`Metric`]. A [`Spread`] is the distribution of a measured
//! difference, from which confidence intervals follow. The caller runs the model on the samples, and passes the results
//! as [`EvaluatedSample`]. This crate itself reads no files and no configuration, and prints nothing.
//!
//! Without the feature `metrics`, this crate only has the types of the figures, for crates that read or write reports.

// Without metrics, nothing draws samples.
#![cfg_attr(not(feature = "metrics"), allow(dead_code))]

mod accuracy;
#[cfg(feature = "metrics")]
mod answers;
mod clusters;
mod error;
mod interval;
#[cfg(feature = "metrics")]
mod labels;
#[cfg(feature = "metrics")]
mod meter;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "metrics")]
mod parts;
#[cfg(feature = "metrics")]
mod portable;
mod proportion;
mod quantiles;
mod resample;
#[cfg(feature = "metrics")]
mod seen;
mod words;

pub use accuracy::{Accuracy, Change, Figure, Measured, PartFigure, Unit};
#[cfg(feature = "metrics")]
pub use answers::{Answers, Question, Scores, positions};
pub use clusters::ClusteredShare;
pub use error::EvaluateError;
pub use interval::Spread;
#[cfg(feature = "metrics")]
pub use labels::{Classes, Labels};
#[cfg(feature = "metrics")]
pub use meter::{Measure, Meter, MetricFigures, Note, Runs};
#[cfg(feature = "metrics")]
pub use parts::ConcatenatedParts;
pub use proportion::{Paired, Proportion};
#[cfg(feature = "metrics")]
pub use seen::{EvaluatedSample, Output, floats};
pub use words::{Better, BoxFormat, Metric};
