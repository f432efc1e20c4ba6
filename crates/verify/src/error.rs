use strait_core::GraphId;
use strait_execute::ExecuteError;

/// Reason why a module cannot be verified at all. An error in a module that can be verified is a
/// [`Finding`](crate::Finding).
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// There is nothing to compare the fused graph with. The fault is the module's.
    #[error("there is no graph `{0}`")]
    NoLowered(&'static str),
    /// A graph that is not in the module. The fault is the caller's.
    #[error("{0} is not in the module")]
    NoGraph(GraphId),
    /// A node depends on itself. The fault is the module's.
    #[error("node `{0}` lies on a cycle")]
    Cycle(String),
    /// A graph does not run.
    #[error("{graph}: {source}")]
    Execute {
        /// Which one: `lowered` or `fused`.
        graph: &'static str,
        /// Reason.
        source: ExecuteError,
    },
}
