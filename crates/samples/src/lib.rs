//! Samples in files: reads arrays and labels from `.npy` and `.npz`, and writes arrays and archives of arrays. No other
//! crate knows these formats. Images become pixels in `strait-images`.
//!
//! Samples lie along the first axis of an array. This axis replaces the batch dimension of the model's input. If the
//! input has no batch dimension, the axis comes before all axes of the input. Files are mapped, and a sample is read
//! when it is asked for, so memory does not grow with the number of samples.
//!
//! If an input takes floats, a sample's numbers of any type are converted to float32, and then the
//! [preprocessing](Plan) is applied. If an input takes integers or booleans, the numbers are not converted to floats.
//! The file then must have the input's type, or a type whose numbers all fit into it, such as int32 for int64, and the
//! preprocessing may only have steps that move numbers.
//!
//! | samples in | are read as |
//! |---|---|
//! | `.npy` | the samples of the only input |
//! | `.npz` | one array for each input, by its name |
//! | a folder of `NAME.npy` | one file for each input, by its [escaped](escape) name |
//! | a folder of `.npy` | for a model of one input: batches, in the order of their names |
//! | a folder of `.npz` | batches, in the order of their names |
//! | `.png`, `.jpg` | one image, for the only input |
//! | a folder of images, with the folders below it | one image for each sample, in the order of the paths |
//! | `images/**/*.jpg`, `batches/*.npy` | the images or arrays that the pattern matches, in the order of their paths |
//! | `.txt` | a list of images or of arrays, one in each line |
//! | a folder of folders of images | for each of several inputs, the folder or array with its name; samples belong together by position |
//!
//! # Which code reads what
//!
//! The crate `zip` reads archives. Its limits suffice here: its allocations are bounded by the file's length, and a
//! member's content is bounded by the size in the directory, which we check. This crate reads the header of an `.npy`
//! itself. `ndarray-npy` 0.10 allocates the memory that a header asks for before it looks at the length of the file. It
//! can only view numbers that are aligned, but numbers in members of an archive are not. It also depends on a parser
//! generator of twenty crates, to parse a header of one line. This crate also writes archives itself, in eighty lines,
//! because archives are stored in artifacts, where the same input must always give the same bytes.

mod archive;
mod arrays;
mod digest;
mod error;
mod files;
mod images;
mod input_spec;
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
pub use input_spec::InputSpec;
pub use labels::{FOLDERS, LabelCount, MOST_CLASSES, Object, label_array, labels_by_name, read_boxes, read_labels};
pub use named::ImageReading;
pub use names::escape;
pub use npy::{Array, Writer, encode};
pub use numbers::NumberType;
pub use pack::{Pack, PackError};
pub use place::{SampleSource, Set, Unreadable};
pub use plan::{Operation, Plan};
pub use sample::Sample;
pub use samples::{Samples, Scratch};
pub use stacked::{Stacked, StackedError};
