//! TFLite in: from a file to a module of the float stage.
//!
//! A file is a flatbuffer. Its tensors and operators are taken out of it once, with every bound checked, so that nothing behind
//! that looks at an offset; what they become is said in the module [`mod@read`], a file for each family of operators.
//!
//! Images of TFLite have their channels last, and those of the IR first: an operator with a window has a transpose in front
//! of it and one behind. The canonical graph has them at its borders alone, by a rule of `strait-rewrite`.
//!
//! Tensors of codes are read as the real numbers that these stand for, on the grids that the file gives; codes go in and out where
//! the file has them so. A fused activation is a node of its own, with the result's grid in front of it and behind it: where the
//! runtime saturates once, both do.

mod format;
mod graph;
pub mod names;
pub mod read;
#[allow(
    unsafe_code,
    reason = "what reads vectors of tables has an unsafe function to fill in"
)]
mod schema;

pub use format::TfLite;
pub use read::{Model, Operator, operators, read};
pub use strait_import::{FreeDimension, NodeFault, ReadError, ReadOptions, free_dimensions};
