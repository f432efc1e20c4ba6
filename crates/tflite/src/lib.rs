//! Reads TFLite files as modules of the float stage.
//!
//! A file is a flatbuffer. Its tensors and operators are extracted once, with every bound checked, so later code does
//! not look at offsets. The module [`mod@read`] defines what operators become, with a file for each family.
//!
//! Images have channels last in TFLite and first in the IR, so an operator with a window gets a transpose before and
//! after it. In the canonical graph only those at the graph's borders are left, by a rule of `strait-rewrite`.
//!
//! Tensors of codes are read as the real numbers that they stand for, on the grids that the file gives. Where the file
//! has codes as inputs or outputs, so does the module. A fused activation becomes a node of its own, with the result's
//! grid both before and after it. The runtime saturates once there, and saturating twice gives the same.

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
