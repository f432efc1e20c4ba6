//! The trait that says how an op is written.

pub(super) use super::at::At;
pub(super) use crate::error::WriteError;
pub(super) use crate::write::emitter::Emitter;
use strait_core::{Graph, Node};

/// An op that can be written as ONNX operators.
#[diagnostic::on_unimplemented(
    message = "ONNX has no operator for `{Self}` yet",
    note = "add a row to `operators!` or `without_operator!` of `write/ops/mod.rs`, or implement `Operator` in a file beside it"
)]
pub(in crate::write) trait Operator {
    /// Writes a node with this op.
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError>;

    /// The first operator set that can express the node.
    fn since(&self, _graph: &Graph, _node: &Node) -> i64 {
        1
    }
}
