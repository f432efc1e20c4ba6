//! The reason why a graph was not lowered.

use strait_core::Refusal;

/// The reason why a graph was not lowered.
#[derive(Debug, thiserror::Error)]
pub enum LowerError {
    /// Some nodes cannot be lowered. The caller has to place them on the host and annotate the graph again.
    #[error("{} node{} cannot be lowered", .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Nodes(Vec<Refusal>),
    /// A defect of the compiler: an earlier step should have guaranteed something and did not.
    #[error("{0}")]
    Ours(String),
}
