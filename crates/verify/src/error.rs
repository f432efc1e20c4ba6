use crate::LOWERED;
use strait_core::GraphId;
use strait_execute::ExecuteError;

/// The reason why a module cannot be verified at all. If a module can be verified and something is wrong with it, there
/// is a [`Finding`](crate::Finding) instead.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The module has no graph with which the fused graph could be compared.
    #[error("there is no graph `{0}`")]
    NoLowered(&'static str),
    /// The caller asked for a graph that the module does not have.
    #[error("{0} is not in the module")]
    NoGraph(GraphId),
    /// The module is broken: the inputs of a node depend on the node itself.
    #[error("node `{0}` lies on a cycle")]
    Cycle(String),
    /// A graph cannot be run.
    #[error("{graph}: {source}")]
    Execute {
        /// The graph that cannot be run: `lowered` or `fused`.
        graph: &'static str,
        /// The reason.
        source: ExecuteError,
    },
}

impl From<ExecuteError> for VerifyError {
    fn from(source: ExecuteError) -> VerifyError {
        VerifyError::Execute { graph: LOWERED, source }
    }
}
