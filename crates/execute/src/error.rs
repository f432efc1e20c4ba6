//! Errors, and whose fault they are.

use strait_core::{Graph, Module, NodeId, TensorError, codes};
use strait_kernels::KernelError;
use strait_requantize::{FormError, OutsideDomain};

/// Reason why a graph cannot be planned or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExecuteError {
    /// The model's or the configuration's fault: a dimension has no number.
    #[error("`{value}` has the symbolic dimension `{dimension}`; bind it to a number")]
    Symbolic {
        /// The source name of the value.
        value: String,
        /// The name of the dimension.
        dimension: String,
    },
    /// The model's fault: more memory than a run may take.
    #[error("`{value}` would need {bytes} bytes, more than a run may take")]
    TooLarge {
        /// The source name of the value.
        value: String,
        /// Bytes that it would take, saturated.
        bytes: u64,
    },
    /// The model's fault: no node of a cycle can be first.
    #[error("`{node}` lies on a cycle")]
    Cycle {
        /// The name of a node on it.
        node: String,
    },
    /// A node that cannot be prepared or has failed; `source` says whose fault it is.
    #[error("`{node}` ({op}): {source}")]
    Node {
        /// The name of the node.
        node: String,
        /// The name of its op.
        op: &'static str,
        /// The error.
        source: StepError,
    },
    /// The caller's fault: the wrong number of inputs.
    #[error("the graph has {expected} inputs, {found} were given")]
    InputCount {
        /// Inputs of the graph.
        expected: usize,
        /// Inputs of the call.
        found: usize,
    },
    /// The caller's fault: an input of another type or shape.
    #[error("input `{input}` is {expected}, but {found} was given")]
    Input {
        /// The name of the input.
        input: String,
        /// Its element type and shape.
        expected: String,
        /// The tensor that was given.
        found: String,
    },
    /// The machine's fault: threads cannot be started.
    #[error("threads cannot be started: {0}")]
    Threads(String),
    /// Our fault.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

impl ExecuteError {
    /// The code by which programs know it.
    pub fn code(&self) -> &'static str {
        match self {
            ExecuteError::Node {
                source: StepError::Target(_) | StepError::Kernel(KernelError::Tile(_)),
                ..
            } => codes::TARGET,
            _ => codes::RUN,
        }
    }

    /// The text of an error that is our own fault.
    pub fn defect(&self) -> Option<&str> {
        match self {
            ExecuteError::Ours(text)
            | ExecuteError::Node {
                source: StepError::Ours(text),
                ..
            } => Some(text),
            _ => None,
        }
    }

    /// The error of a node.
    pub(crate) fn at(module: &Module, graph: &Graph, id: NodeId, source: StepError) -> ExecuteError {
        let node = graph.node(id);
        ExecuteError::Node {
            node: node.map_or_else(String::new, |n| module.name(n.name).into()),
            op: node.map_or("", |n| n.op.term().name()),
            source,
        }
    }
}

/// Reason why one node cannot be prepared or has failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// Nothing here computes the op with these operands.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The model's fault: operands, attributes or indices that do not fit together.
    #[error("{0}")]
    Model(String),
    /// The loops refused; the variant says whose fault it is.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A constant cannot be read as the type that the op needs.
    #[error(transparent)]
    Constant(#[from] TensorError),
    /// A requantization with illegal parameters: the target's fault, or the lowering's.
    #[error(transparent)]
    Form(#[from] FormError),
    /// An accumulator for which a requantization is not defined.
    #[error(transparent)]
    OutsideDomain(#[from] OutsideDomain),
    /// The target's fault: it has no loops for a form that its table accepts.
    #[error("target: {0}")]
    Target(String),
    /// Our fault.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

impl From<strait_core::Reason> for StepError {
    fn from(reason: strait_core::Reason) -> StepError {
        StepError::Model(reason.to_string())
    }
}
