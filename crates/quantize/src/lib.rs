//! Makes an annotated graph from a float graph.
//!
//! [`observe()`] runs the float graph over the calibration data once and collects [`statistics`] of every value. These
//! do not depend on any target. [`annotate()`] then gives every operand of a node that a target computes in integers a
//! quantization config: which operands share a grid, and which grid it is. An [`observers::Observer`] finds the range
//! of a grid from the statistics.

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
