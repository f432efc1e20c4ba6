//! Failures at a node, of two kinds that must not be confused: refusals, which send the node to the host, and bugs of
//! ours.

use crate::ids::NodeId;
use crate::reason::Reason;
use crate::tensor::TensorError;

/// Why a step could not be done at a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The target, the model or the data do not allow it, so the node goes to the host.
    #[error(transparent)]
    Reason(#[from] Reason),
    /// The grid of the node's first result is 2^`doublings` times too fine. A coarser grid would avoid the refusal.
    #[error("{reason}")]
    TooFine {
        /// Why the node goes to the host if its grid must stay.
        reason: Reason,
        /// How many times the scale has to double; at least 1.
        doublings: u32,
    },
    /// Something that an earlier step guarantees does not hold. This is a bug of ours, which stops everything.
    #[error("{0}")]
    Defect(String),
}

/// A node at which a step could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The node that was refused.
    pub node: NodeId,
    /// Why it could not be done.
    pub reason: Reason,
    /// How many times the scale of the node's first result would have to double for the step to succeed; 0 if no grid
    /// would help.
    pub doublings: u32,
}

impl Failure {
    /// The failure as a refusal of a node.
    ///
    /// # Errors
    /// The text of the failure, if it is a bug of ours.
    pub fn refusal(self, node: NodeId) -> Result<Refusal, String> {
        match self {
            Failure::Reason(reason) => Ok((node, reason).into()),
            Failure::TooFine { reason, doublings } => Ok(Refusal {
                node,
                reason,
                doublings,
            }),
            Failure::Defect(text) => Err(text),
        }
    }

    /// A failure that is a bug of ours, in one sentence.
    pub fn defect(text: impl Into<String>) -> Failure {
        Failure::Defect(text.into())
    }
}

impl From<(NodeId, Reason)> for Refusal {
    fn from((node, reason): (NodeId, Reason)) -> Refusal {
        let doublings = 0;
        Refusal {
            node,
            reason,
            doublings,
        }
    }
}

/// Tensors of a verified graph are valid, and those that a step makes fit their shapes, so such an error is a bug of
/// ours.
impl From<TensorError> for Failure {
    fn from(error: TensorError) -> Failure {
        Failure::Defect(format!("a tensor: {error}"))
    }
}
