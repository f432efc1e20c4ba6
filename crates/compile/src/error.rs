//! The reasons why a compilation fails, grouped by the cause: the model, the settings, the samples, the target or the
//! compiler.

use strait_core::{NodeId, PassError, Reason, codes};
use strait_execute::{Excess, ExecuteError};
use strait_quantize::ObserveError;

/// The reason why a compilation failed.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The caller asked to stop, through [`Watch`](crate::Watch).
    #[error("interrupted")]
    Interrupted,
    /// The model contains something that cannot be compiled.
    #[error("model: {}", .0.text)]
    Model(Reason),
    /// The settings require the listed nodes in integers, but the nodes have to run on the host.
    #[error("{}", denied(.0))]
    Denied(Vec<Denied>),
    /// A run would take more than its limits allow.
    #[error(transparent)]
    Excess(#[from] Box<Excess>),
    /// A graph cannot be run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// The samples cannot be observed.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// A sample of a simulation cannot be used.
    #[error("sample {index}: {text}")]
    Sample {
        /// The index of the sample.
        index: usize,
        /// What is wrong with the sample.
        text: String,
    },
    /// A temporary file cannot be written or read.
    #[error("{0}")]
    File(String),
    /// The target's code failed on the whole model.
    #[error("{0}")]
    Target(String),
    /// The target's own model of its arithmetic failed, or gives other codes than the form in the target's table.
    #[error(transparent)]
    OwnModel(#[from] LayerError),
    /// Some kernels of the target give other results than their forms define. There is one sentence for each layer.
    #[error("{}", .0.join("; "))]
    Kernels(Vec<String>),
    /// A defect of the compiler.
    #[error("defect in Strait: {0}")]
    Defect(String),
}

/// A node that the settings require in integers, but that cannot run in integers.
#[derive(Clone, Debug, PartialEq)]
pub struct Denied {
    /// The node.
    pub node: NodeId,
    /// The name of the node.
    pub name: String,
    /// Why the node runs on the host.
    pub reason: Reason,
    /// True if the error is that a bias or a scale of the node's weights does not fit. False if the error is that the
    /// settings require the node in integers.
    pub is_unfit: bool,
}

/// An error in one layer of the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("layer `{layer}`: {text}")]
pub struct LayerError {
    /// The name of the layer.
    pub layer: String,
    /// What is wrong.
    pub text: String,
}

fn denied(nodes: &[Denied]) -> String {
    let sentence = |denied: &Denied| format!("`{}` cannot run in integers: {}", denied.name, denied.reason.text);
    nodes.iter().map(sentence).collect::<Vec<_>>().join("; ")
}

impl CompileError {
    /// Returns the code by which programs recognise the error. The code is a letter and three digits, or a word if the
    /// cause is not an input of the user.
    pub fn code(&self) -> &'static str {
        match self {
            CompileError::Interrupted => "interrupted",
            CompileError::Model(_) => codes::MODEL,
            CompileError::Denied(_) => codes::UNSUPPORTED,
            CompileError::Excess(excess) => excess.code(),
            CompileError::Execute(error) => error.code(),
            CompileError::Observe(ObserveError::NoSamples) => codes::NO_SAMPLES,
            CompileError::Observe(ObserveError::Run { source, .. }) => match source {
                ExecuteError::Input { .. } | ExecuteError::InputCount { .. } => codes::SAMPLE_SHAPE,
                source => source.code(),
            },
            CompileError::Observe(_) | CompileError::Sample { .. } => codes::SAMPLE,
            CompileError::Target(_) | CompileError::OwnModel(_) | CompileError::Kernels(_) => codes::TARGET,
            CompileError::File(_) => codes::OUTPUT,
            CompileError::Defect(_) => "defect",
        }
    }

    /// The error for something that an earlier step of the compiler should have guaranteed and did not.
    pub(crate) fn defect(error: impl std::fmt::Display) -> CompileError {
        CompileError::Defect(error.to_string())
    }
}

impl From<PassError> for CompileError {
    fn from(error: PassError) -> CompileError {
        match error {
            PassError::Model(reason) => CompileError::Model(reason),
            other => CompileError::Defect(other.to_string()),
        }
    }
}
