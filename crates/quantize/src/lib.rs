//! Makes an annotated graph from a float graph.
//!
//! [`observe()`] runs the float graph once over the calibration data and collects [`statistics`] of every value. These
//! statistics do not depend on any target. [`annotate()`] then gives a quantization config to every operand of a node
//! that a target computes in integers. It decides which operands share a grid, and finds the grids. The range of a grid
//! comes from an [`observers::Observer`], which computes it from the statistics.

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
