//! Errors of planning and running a graph.

use strait_core::{Graph, Module, NodeId, TensorError, codes};
use strait_exchange::ExchangeError;
use strait_kernels::KernelError;
use strait_requantize::{FormError, OutsideDomain};

/// Why a graph cannot be planned or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExecuteError {
    /// A dimension has no number. The model or the configuration has to state it.
    #[error("`{value}` has the symbolic dimension `{dimension}`; bind it to a number")]
    Symbolic {
        /// The name of the value in the source model.
        value: String,
        /// The name of the dimension.
        dimension: String,
    },
    /// A value needs more memory than a run may use.
    #[error("`{value}` would need {bytes} bytes, more than a run may take")]
    TooLarge {
        /// The name of the value in the source model.
        value: String,
        /// The number of bytes that the value would need; saturated.
        bytes: u64,
    },
    /// Nodes of the model form a cycle, so none of them can run before the others.
    #[error("`{node}` lies on a cycle")]
    Cycle {
        /// The name of a node on the cycle.
        node: String,
    },
    /// The step of a node cannot be prepared or has failed.
    #[error("`{node}` ({op}): {source}")]
    Node {
        /// The name of the node.
        node: String,
        /// The name of the node's op.
        op: &'static str,
        /// The error of the node's step.
        source: StepError,
    },
    /// The caller gave the wrong number of inputs.
    #[error("the graph has {expected} inputs, {found} were given")]
    InputCount {
        /// The number of inputs of the graph.
        expected: usize,
        /// The number of inputs that were given.
        found: usize,
    },
    /// The caller gave an input of the wrong type or shape.
    #[error("input `{input}` is {expected}, but {found} was given")]
    Input {
        /// The name of the input.
        input: String,
        /// The element type and shape that the graph expects.
        expected: String,
        /// The element type and shape that were given.
        found: String,
    },
    /// The machine cannot start threads.
    #[error("threads cannot be started: {0}")]
    Threads(String),
    /// Results cannot be exchanged with other processes.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// A bug in Strait.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

impl ExecuteError {
    /// Returns the error code, by which programs can tell errors apart.
    pub fn code(&self) -> &'static str {
        match self {
            ExecuteError::Node {
                source: StepError::Target(_) | StepError::Kernel(KernelError::Tile(_)),
                ..
            } => codes::TARGET,
            ExecuteError::Exchange(_) => codes::EXCHANGE,
            _ => codes::RUN,
        }
    }

    /// Returns the text of the error if it is a bug in Strait, and `None` otherwise.
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
    /// Strait does not support the op with these operands.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// Operands, attributes or indices of the model do not fit together.
    #[error("{0}")]
    Model(String),
    /// A kernel refused the operands.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A constant cannot be read as the type that the op needs.
    #[error(transparent)]
    Constant(#[from] TensorError),
    /// A requantization has illegal parameters, from the target or from lowering.
    #[error(transparent)]
    Form(#[from] FormError),
    /// A requantization is not defined for an accumulator that occurred in the run.
    #[error(transparent)]
    OutsideDomain(#[from] OutsideDomain),
    /// The target accepts a form of requantization in its table, but has no loops for it.
    #[error("target: {0}")]
    Target(String),
    /// A bug in Strait.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

impl From<strait_core::Reason> for StepError {
    fn from(reason: strait_core::Reason) -> StepError {
        StepError::Model(reason.to_string())
    }
}
