//! Reasons why nothing was compiled, by whose fault it is.

use strait_core::{NodeId, PassError, Reason, codes};
use strait_execute::{Excess, ExecuteError};
use strait_quantize::ObserveError;

/// Reason why nothing was compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// Whoever watches asked for it.
    #[error("interrupted")]
    Interrupted,
    /// The model asks for what cannot be.
    #[error("model: {}", .0.text)]
    Model(Reason),
    /// Nodes that settings want in integers run on the host.
    #[error("{}", denied(.0))]
    Denied(Vec<Denied>),
    /// A run takes more than it may.
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
        /// Which one.
        index: usize,
        /// The fault of the samples.
        text: String,
    },
    /// The target's code failed on the whole model.
    #[error("{0}")]
    Target(String),
    /// The target's own model of its arithmetic failed, or says something else than the form.
    #[error(transparent)]
    OwnModel(#[from] LayerError),
    /// Kernels of the target compute something else than their forms: a sentence for each layer.
    #[error("{}", .0.join("; "))]
    Kernels(Vec<String>),
    /// Our own fault.
    #[error("defect in Strait: {0}")]
    Defect(String),
}

/// A node that is to run in integers and cannot.
#[derive(Clone, Debug, PartialEq)]
pub struct Denied {
    /// Which.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Why it is on the host.
    pub reason: Reason,
    /// True if that is denied because a bias or a scale of weights does not fit, false if the node was to run in integers
    /// whatever comes.
    pub is_unfit: bool,
}

/// An error at one layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("layer `{layer}`: {text}")]
pub struct LayerError {
    /// Name of the layer.
    pub layer: String,
    /// The fault.
    pub text: String,
}

fn denied(nodes: &[Denied]) -> String {
    let sentence = |denied: &Denied| format!("`{}` cannot run in integers: {}", denied.name, denied.reason.text);
    nodes.iter().map(sentence).collect::<Vec<_>>().join("; ")
}

impl CompileError {
    /// The code by which programs know it: a letter and three digits, or a word where no input is at fault.
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
            CompileError::Defect(_) => "defect",
        }
    }

    /// A promise of an earlier step that does not hold.
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
