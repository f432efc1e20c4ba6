//! Errors of a pass, a step over a whole graph.

use crate::reason::Reason;
use std::borrow::Cow;

/// Reason why a pass stopped, and whose fault it is.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// The model asks for what cannot be.
    #[error("model: {0}")]
    Model(Reason),
    /// The configuration does.
    #[error("configuration: {0}")]
    Config(Reason),
    /// The target's table or code does.
    #[error("target: {0}")]
    Target(Reason),
    /// A defect in Strait.
    #[error("defect in Strait: {0}")]
    Ours(Cow<'static, str>),
}
