//! Samples in files: arrays and labels from `.npy` and `.npz`, and arrays and archives of arrays back into files. The only
//! crate that knows these formats. Images become pixels in `strait-images`.
//!
//! Samples lie along the first axis of an array, in place of the model's batch dimension, or in front of its shape where
//! it has none. Files are mapped: a sample is read when it is asked for, so memory does not depend on their number.
//!
//! For an input of floats the numbers of a sample, of whatever type, become float32; then the [preprocessing](Plan) follows.
//! For an input of integers or truth values they stay what they are: a file has the input's type, or one whose numbers all are
//! of it, such as int32 for int64, and of the preprocessing there are only the steps that move numbers.
//!
//! | samples in | are read as |
//! |---|---|
//! | `.npy` | those of the only input |
//! | `.npz` | one array for each input, by its name |
//! | a folder of `NAME.npy` | one file for each input, by its [escaped](escape) name |
//! | a folder of `.npy` | for a model of one input: batches, in the order of their names |
//! | a folder of `.npz` | batches, in the order of their names |
//! | `.png`, `.jpg` | one image, for the only input |
//! | a folder of images, with the folders below it | one for each sample, in the order of their paths |
//! | `images/**/*.jpg`, `batches/*.npy` | those that the pattern matches, images or arrays, in the order of their paths |
//! | `.txt` | a list of images or of arrays, one in each line |
//! | a folder of folders of images | for each of several inputs the folder, or an array, of its name; they belong together by their order |
//!
//! # Which code reads what
//!
//! Archives are read by the crate `zip`. Its limits hold for our purpose: what it allocates is bounded by the file's length,
//! a member's content by the size that its directory states, checked here.
//! The header of an `.npy` is read by this crate. `ndarray-npy` 0.10 takes the memory that a header asks for before it looks
//! at the file's length, has views only of numbers that are aligned (the members of an archive are not), and brings a parser
//! generator of twenty crates for a header of one line.
//! Archives are written by this crate, in eighty lines: the bytes of a package are part of an artifact, and stay the same.

mod archive;
mod arrays;
mod error;
mod files;
mod images;
mod labels;
mod layout;
mod listing;
mod marks;
mod named;
mod names;
mod npy;
mod numbers;
mod pack;
mod picture;
mod place;
mod plan;
mod random;
mod sample;
mod samples;
mod source;
mod stacked;
mod steps;

pub use arrays::read_arrays;
pub use error::{DataError, Kind};
pub use labels::{FOLDERS, LabelCount, MOST_CLASSES, Object, label_array, labels_by_name, read_boxes, read_labels};
pub use named::Reading;
pub use names::escape;
pub use npy::{Array, Writer, encode};
pub use numbers::NumberType;
pub use pack::{Pack, PackError};
pub use place::{SampleSource, Set, Unreadable};
pub use plan::{Operation, Plan};
pub use sample::Sample;
pub use samples::{InputSpec, Samples, Scratch};
pub use stacked::{Stacked, StackedError};
