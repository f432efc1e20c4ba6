//! Reads and writes ONNX.
//!
//! [`Model::open`] maps a file and decodes its structure. The weights stay in the file and become slices of the memory
//! map. [`Decoded::read`](strait_import::Decoded::read) builds a module of the float stage. This function knows
//! operator sets 7 to 28 of the standard domain, and ONNX Runtime's own domain. Unknown operators are reported all at
//! once. Types and shapes come only from the inference functions of `strait-core`.
//!
//! [`write()`] turns a module into ONNX. Float ops become ONNX operators. `quantize` and `dequantize` become
//! `QuantizeLinear` and `DequantizeLinear`, with scales and zero points taken from the values. Foreign nodes are
//! written as they are. [`with_notes`] adds notes for viewers to the nodes of a file. [`encode()`] does the same, but adds a second file if a single file would be too large.

mod activations;
mod elements;
mod error;
mod format;
mod functions;
mod notes;
mod proto;
mod read;
mod write;

pub use error::WriteError;
pub use format::Onnx;
pub use notes::{Damaged, graph_name, with_notes};
pub use read::{LFS_POINTER, Model, Operator, operators, read};
pub use write::{DataFile, Encoded, MOST_BYTES, encode, encode_operators, left_out, operators_left_out, write};

/// The oldest and the newest version of the standard operator set that Strait reads.
pub const OPSETS: std::ops::RangeInclusive<i64> = 7..=28;

/// The oldest and the newest version of the ONNX file format that Strait reads.
pub const IR_VERSIONS: std::ops::RangeInclusive<i64> = 3..=14;
