//! The operator of an op.

pub(super) use super::at::At;
pub(super) use crate::error::WriteError;
pub(super) use crate::write::emitter::Emitter;
use strait_core::{Graph, Node};

/// An op as ONNX has it.
#[diagnostic::on_unimplemented(
    message = "ONNX has no operator for `{Self}` yet",
    note = "add a row to `operators!` or `without_operator!` of `write/ops/mod.rs`, or implement `Operator` in a file beside it"
)]
pub(in crate::write) trait Operator {
    /// Writes a node of the op.
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError>;

    /// The first operator set that has the operator as the node needs it.
    fn since(&self, _graph: &Graph, _node: &Node) -> i64 {
        1
    }
}
