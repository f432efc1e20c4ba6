//! Reads TFLite files as modules of the float stage.
//!
//! A file is a flatbuffer. Its tensors and operators are extracted once, with every bound checked, so later code does
//! not look at offsets. The module [`mod@read`] translates operators to ops, with a file for each family.
//!
//! Images have channels last in TFLite, and channels first in the IR. So an operator with a window gets a transpose
//! before and after it. Rules of `strait-rewrite` remove these transposes, except those at the borders of the graph.
//!
//! Tensors of codes are read as the real numbers that the codes stand for, on the grids that the file gives. If an
//! input or output of the file has codes, it also has codes in the module. A fused activation becomes a node of its
//! own; the values before and after it both get the grid of the result. So the module saturates twice where the runtime
//! saturates once, which gives the same numbers.

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
