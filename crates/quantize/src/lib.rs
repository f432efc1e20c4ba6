//! From float to annotated.
//!
//! [`observe()`] runs the float graph over the calibration data once and keeps [`statistics`] of every value, free of any
//! target. [`annotate()`] then gives every operand of a node that a target computes in integers its quantization config:
//! which operands share a grid, and which grid, by an [`observers::Observer`] over the statistics.

pub mod annotate;
mod logarithm;
pub mod observe;
pub mod observers;
mod parts;
mod requests;
pub mod statistics;

pub use annotate::{AnnotateError, Annotation, Settings, annotate};
pub use observe::{ObserveError, observe};
pub use observers::ObserverChoice;
pub use parts::parts;
pub use requests::Requests;
pub use statistics::{Observation, Statistics};
