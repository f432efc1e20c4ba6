//! Two kinds of failure at one node, which must not be mistaken for each other.

use crate::ids::NodeId;
use crate::reason::Reason;
use crate::tensor::TensorError;

/// Reason why a step could not be done at one node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The target, the model or the data stand against it: the node goes to the host.
    #[error(transparent)]
    Reason(#[from] Reason),
    /// The same, but for the grid of the node's first result: it is 2^`doublings` times too fine.
    #[error("{reason}")]
    TooFine {
        /// Reason why the node goes to the host where its grid must stay.
        reason: Reason,
        /// At least 1.
        doublings: u32,
    },
    /// A promise of an earlier step does not hold: a defect in Strait, which stops everything.
    #[error("{0}")]
    Defect(String),
}

/// A node that a step could not be done at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The node.
    pub node: NodeId,
    /// Reason of the refusal.
    pub reason: Reason,
    /// It could be done if the grid of the node's first result were 2^`doublings` times as coarse; 0 where no grid
    /// would do.
    pub doublings: u32,
}

impl Failure {
    /// The failure as the refusal of a node.
    ///
    /// # Errors
    /// The text of a defect.
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

    /// A defect, in one sentence.
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

/// Tensors of a verified graph are whole, and those that a step makes fit their shapes.
impl From<TensorError> for Failure {
    fn from(error: TensorError) -> Failure {
        Failure::Defect(format!("a tensor: {error}"))
    }
}
