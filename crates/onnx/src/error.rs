//! Errors of writing ONNX.

/// Why a module could not be written as ONNX.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The module cannot be written. The fault is in Strait, or in the target that made the module.
    #[error("`{node}`: {text}")]
    Unwritable {
        /// The node or value that cannot be written.
        node: String,
        /// Why the node or value cannot be written.
        text: String,
    },
    /// Writing to the output failed.
    #[error("the ONNX file could not be written: {0}")]
    Output(#[from] std::io::Error),
}
