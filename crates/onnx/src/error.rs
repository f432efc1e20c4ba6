//! Errors of writing.

/// Reason why a module could not be written as ONNX.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The module cannot be written. Ours, or the fault of the target that made it.
    #[error("`{node}`: {text}")]
    Unwritable {
        /// The node or value.
        node: String,
        /// Reason of the refusal.
        text: String,
    },
    /// The output could not be written.
    #[error("the ONNX file could not be written: {0}")]
    Output(#[from] std::io::Error),
}
