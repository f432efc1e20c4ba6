use strait_core::GraphId;
use strait_execute::ExecuteError;

/// The reason why a module cannot be verified at all. If a module can be verified and something is wrong with it, that
/// is a [`Finding`](crate::Finding).
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The module has nothing to compare the fused graph with.
    #[error("there is no graph `{0}`")]
    NoLowered(&'static str),
    /// The module does not have this graph. The caller asked for the wrong one.
    #[error("{0} is not in the module")]
    NoGraph(GraphId),
    /// The module is broken: a node depends on itself.
    #[error("node `{0}` lies on a cycle")]
    Cycle(String),
    /// A graph does not run.
    #[error("{graph}: {source}")]
    Execute {
        /// The graph that does not run: `lowered` or `fused`.
        graph: &'static str,
        /// The reason.
        source: ExecuteError,
    },
}
