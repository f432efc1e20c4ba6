//! Errors of a pass over a whole graph.

use crate::reason::Reason;
use std::borrow::Cow;

/// Why a pass stopped. The variant says where the cause is: in the model, in the configuration, in the target or in
/// Strait.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// The model asks for something impossible.
    #[error("model: {0}")]
    Model(Reason),
    /// The configuration asks for something impossible.
    #[error("configuration: {0}")]
    Config(Reason),
    /// The target's table or code asks for something impossible.
    #[error("target: {0}")]
    Target(Reason),
    /// A bug in Strait.
    #[error("defect in Strait: {0}")]
    Ours(Cow<'static, str>),
}
