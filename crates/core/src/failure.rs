//! Two kinds of failure at one node, which must not be mistaken for each other.

use crate::reason::Reason;
use crate::tensor::TensorError;

/// Reason why a step could not be done at one node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The target, the model or the data stand against it: the node goes to the host.
    #[error(transparent)]
    Reason(#[from] Reason),
    /// A promise of an earlier step does not hold: a defect in Strait, which stops everything.
    #[error("{0}")]
    Defect(String),
}

impl Failure {
    /// A defect, in one sentence.
    pub fn defect(text: impl Into<String>) -> Failure {
        Failure::Defect(text.into())
    }
}

/// Tensors of a verified graph are whole, and those that a step makes fit their shapes.
impl From<TensorError> for Failure {
    fn from(error: TensorError) -> Failure {
        Failure::Defect(format!("a tensor: {error}"))
    }
}
