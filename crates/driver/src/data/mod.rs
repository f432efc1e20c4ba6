//! Samples and labels from files, and arrays back into files.
//!
//! Samples lie along the first axis of an array, in place of the model's batch dimension, or in front of its shape where
//! it has none. Files are mapped: a sample is read when it is asked for, so memory does not depend on their number. The
//! numbers of a sample, of whatever type, become float32; then the [preprocessing](crate::config::preprocess) follows.
//!
//! | samples in | are read as |
//! |---|---|
//! | `.npy` | those of the only input |
//! | `.npz` | one array for each input, by its name |
//! | a folder of `NAME.npy` | one file for each input, by its [escaped](escape) name |
//! | a folder of `.npy` | for a model of one input: batches, in the order of their names |
//! | a folder of `.npz` | batches, in the order of their names |

pub mod codes;
mod files;
mod labels;
mod names;
mod npy;
mod numbers;
mod preprocess;
mod samples;
mod zip;

pub use labels::read_labels;
pub use names::escape;
pub use npy::{Array, Writer};
pub use numbers::NumberType;
pub use samples::{InputSpec, Samples, Scratch};
