//! Errors of planning and running a graph. Each error says whose fault it is.

use strait_core::{Graph, Module, NodeId, TensorError, codes};
use strait_kernels::KernelError;
use strait_requantize::{FormError, OutsideDomain};

/// Why a graph cannot be planned or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExecuteError {
    /// The fault of the model or of the configuration: a dimension has no number.
    #[error("`{value}` has the symbolic dimension `{dimension}`; bind it to a number")]
    Symbolic {
        /// The name of the value in the source model.
        value: String,
        /// The name of the dimension.
        dimension: String,
    },
    /// The model's fault: a value needs more memory than a run may use.
    #[error("`{value}` would need {bytes} bytes, more than a run may take")]
    TooLarge {
        /// The name of the value in the source model.
        value: String,
        /// The number of bytes that the value would need; saturated.
        bytes: u64,
    },
    /// The model's fault: nodes form a cycle, so none of them can run before the others.
    #[error("`{node}` lies on a cycle")]
    Cycle {
        /// The name of a node on the cycle.
        node: String,
    },
    /// The step of a node cannot be prepared or has failed. `source` says whose fault that is.
    #[error("`{node}` ({op}): {source}")]
    Node {
        /// The name of the node.
        node: String,
        /// The name of the node's op.
        op: &'static str,
        /// The error of the node's step.
        source: StepError,
    },
    /// The caller's fault: the wrong number of inputs.
    #[error("the graph has {expected} inputs, {found} were given")]
    InputCount {
        /// The number of inputs of the graph.
        expected: usize,
        /// The number of inputs that were given.
        found: usize,
    },
    /// The caller's fault: an input has the wrong type or shape.
    #[error("input `{input}` is {expected}, but {found} was given")]
    Input {
        /// The name of the input.
        input: String,
        /// The element type and shape that the graph expects.
        expected: String,
        /// The element type and shape that were given.
        found: String,
    },
    /// The machine's fault: threads cannot be started.
    #[error("threads cannot be started: {0}")]
    Threads(String),
    /// A bug of ours.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

impl ExecuteError {
    /// The error code from which programs can tell which error it is.
    pub fn code(&self) -> &'static str {
        match self {
            ExecuteError::Node {
                source: StepError::Target(_) | StepError::Kernel(KernelError::Tile(_)),
                ..
            } => codes::TARGET,
            _ => codes::RUN,
        }
    }

    /// The text of the error if it is a bug of ours, and `None` otherwise.
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

    /// Adds the node's name and op to the error of its step.
    pub(crate) fn at(module: &Module, graph: &Graph, id: NodeId, source: StepError) -> ExecuteError {
        let node = graph.node(id);
        ExecuteError::Node {
            node: node.map_or_else(String::new, |n| module.name(n.name).into()),
            op: node.map_or("", |n| n.op.term().name()),
            source,
        }
    }
}

/// Why the step of one node cannot be prepared or has failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// We do not support the op with these operands.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The model's fault: operands, attributes or indices do not fit together.
    #[error("{0}")]
    Model(String),
    /// A kernel refused the operands; the kernel's error says whose fault it is.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A constant cannot be read as the type that the op needs.
    #[error(transparent)]
    Constant(#[from] TensorError),
    /// A requantization has illegal parameters. The fault is the target's or the lowering's.
    #[error(transparent)]
    Form(#[from] FormError),
    /// A requantization is not defined for an accumulator that occurred in the run.
    #[error(transparent)]
    OutsideDomain(#[from] OutsideDomain),
    /// The target's fault: the target has no loops for a form of requantization that its table accepts.
    #[error("target: {0}")]
    Target(String),
    /// A bug of ours.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

impl From<strait_core::Reason> for StepError {
    fn from(reason: strait_core::Reason) -> StepError {
        StepError::Model(reason.to_string())
    }
}
