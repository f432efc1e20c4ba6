//! Reads TFLite files as modules of the float stage, and writes graphs on codes as TFLite files.
//!
//! A file is a flatbuffer. Its tensors and operators are extracted once. Only the extracting code reads offsets, and it
//! checks every bound. The module [`mod@read`] translates operators to ops, with a file for each family.
//!
//! Images have channels last in TFLite, and channels first in the IR. So an operator with a window, such as a
//! convolution, is read as an op between two transposes. Rules of `strait-rewrite` remove these transposes, except
//! those at the borders of the graph.
//!
//! Tensors of codes are read as the real numbers that the codes stand for, on the grids that the file gives. If an
//! input or output of the file has codes, it also has codes in the module. A fused activation becomes a node of its
//! own. The values before and after this node both get the grid of the result. So the module saturates twice, before
//! and after the activation, and the runtime only once, after it. The results are the same.

pub mod accelerator;
mod format;
mod graph;
pub mod names;
pub mod read;
#[allow(
    unsafe_code,
    reason = "what reads vectors of tables has an unsafe function to fill in"
)]
mod schema;
pub mod write;

pub use format::TfLite;
pub use read::{Model, Operator, operators, read};
pub use strait_import::{FreeDimension, NodeFault, ReadError, ReadOptions, free_dimensions};
