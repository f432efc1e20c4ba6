//! Why a step fails at a node. A refusal sends the node to the host. A defect is a bug in Strait.

use crate::ids::NodeId;
use crate::reason::Reason;
use crate::tensor::TensorError;

/// Why a step could not be done at a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The target, the model or the data do not allow the step, so the node goes to the host.
    #[error(transparent)]
    Reason(#[from] Reason),
    /// The scale of the node's first result is too small. The step would succeed if the scale were multiplied by
    /// 2^`doublings`.
    #[error("{reason}")]
    TooFine {
        /// Why the node goes to the host if the scale of its result must not change.
        reason: Reason,
        /// How many times the scale has to double; at least 1.
        doublings: u32,
    },
    /// An earlier step has left something in a wrong state. This is a bug in Strait, and the whole compilation stops.
    #[error("{0}")]
    Defect(String),
}

/// A node at which a step could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The node that was refused.
    pub node: NodeId,
    /// Why the step could not be done.
    pub reason: Reason,
    /// How many times the scale of the node's first result would have to double for the step to succeed; 0 if no scale
    /// is large enough.
    pub doublings: u32,
}

impl Failure {
    /// Turns the failure into the refusal of `node`.
    ///
    /// # Errors
    /// The failure is a bug in Strait. The error is its description.
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

    /// Makes a failure that is a bug in Strait, described in one sentence.
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

/// The tensors of a verified graph are valid, and every step gives new tensors the right size. So a `TensorError` is a
/// bug in Strait.
impl From<TensorError> for Failure {
    fn from(error: TensorError) -> Failure {
        Failure::Defect(format!("a tensor: {error}"))
    }
}
