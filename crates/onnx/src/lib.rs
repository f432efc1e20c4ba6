//! ONNX in and out.
//!
//! [`Model::open`] maps a file and decodes its structure; the weights stay in the file and become slices of the map.
//! [`Decoded::read`](strait_import::Decoded::read) builds a module of the float stage out of it: opsets 7 to 28, of the standard domain and of ONNX
//! Runtime's own. What it does not know is reported all at once. Types and shapes come from the inference functions of
//! `strait-core`, and from nowhere else.
//!
//! [`write()`] turns a module into ONNX: float ops, `quantize` and `dequantize` as `QuantizeLinear` and `DequantizeLinear`
//! with scales and zero points from the values, foreign nodes as they are. [`encode()`] does the same in two files where one is
//! too small.

mod elements;
mod error;
mod format;
mod proto;
mod read;
mod write;

pub use error::WriteError;
pub use format::Onnx;
pub use read::{LFS_POINTER, Model, Operator, operators, read};
pub use write::{DataFile, Encoded, MOST_BYTES, encode, left_out, write};

/// The oldest and the newest version of the standard operator set that is read.
pub const OPSETS: std::ops::RangeInclusive<i64> = 7..=28;

/// The oldest and the newest version of the file format that is read.
pub const IR_VERSIONS: std::ops::RangeInclusive<i64> = 3..=14;
