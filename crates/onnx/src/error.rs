//! Errors of writing ONNX.

/// Why a module could not be written as ONNX.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The module cannot be written. This is our fault, or that of the target that made the module.
    #[error("`{node}`: {text}")]
    Unwritable {
        /// The node or value that cannot be written.
        node: String,
        /// Why it cannot be written.
        text: String,
    },
    /// The output could not be written.
    #[error("the ONNX file could not be written: {0}")]
    Output(#[from] std::io::Error),
}
