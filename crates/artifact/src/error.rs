//! Errors when an artifact is opened, verified or inspected. There is a variant for each party that can be at fault.

use std::path::PathBuf;

use strait_compile::CompileError;
use strait_container::ArtifactError;
use strait_core::codes;
use strait_execute::ExecuteError;
use strait_target::RegistryError;

/// Why an artifact cannot be opened, verified or inspected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be read, or it is not an artifact.
    #[error(transparent)]
    Container(#[from] ArtifactError),
    /// A JSON file in the artifact does not have the contents that this version of the program writes.
    #[error("{}: {file} {fault}", .folder.display())]
    Json {
        /// The artifact's folder.
        folder: PathBuf,
        /// Name of the file.
        file: &'static str,
        /// What is wrong with the file.
        fault: String,
    },
    /// The artifact's target is registered, but cannot be made with the artifact's options.
    #[error(transparent)]
    Target(#[from] RegistryError),
    /// A run failed or needed more than the limits allow, the user interrupted it, or Strait has a bug.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The artifact is sound according to the host's kernels, but the target's own kernels compute something else. The
    /// list has a sentence for each layer with different results.
    #[error("{}", .0.join("; "))]
    Kernels(Vec<String>),
    /// A sample that the user gave cannot be used.
    #[error("sample {index}: {fault}")]
    Sample {
        /// Index of the sample.
        index: usize,
        /// What is wrong with the sample.
        fault: String,
    },
    /// The pattern matches no layer.
    #[error("no layer is called `{pattern}`")]
    NoLayer {
        /// The pattern that matches no layer.
        pattern: String,
        /// Names of layers that are similar to the pattern.
        near: Vec<String>,
    },
}

impl Error {
    /// The stable code by which programs recognize the error.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Container(error) => error.code(),
            Error::Json { .. } => codes::DAMAGED,
            Error::Target(_) | Error::Kernels(_) => codes::TARGET,
            Error::Compile(error) => error.code(),
            Error::Sample { .. } => codes::SAMPLE,
            Error::NoLayer { .. } => codes::RULE,
        }
    }
}

impl From<ExecuteError> for Error {
    fn from(error: ExecuteError) -> Error {
        Error::Compile(CompileError::Execute(error))
    }
}
