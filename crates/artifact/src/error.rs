//! Reasons why an artifact cannot be opened, verified or looked at, by whose fault it is.

use std::path::PathBuf;

use strait_compile::CompileError;
use strait_container::ArtifactError;
use strait_core::codes;
use strait_execute::ExecuteError;
use strait_target::RegistryError;

/// Reason why nothing is known of an artifact.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its folder cannot be read, or holds none.
    #[error(transparent)]
    Container(#[from] ArtifactError),
    /// A file of JSON in it is not as this version writes it.
    #[error("{}: {file} {fault}", .folder.display())]
    Json {
        /// The folder.
        folder: PathBuf,
        /// The file.
        file: &'static str,
        /// The fault of it.
        fault: String,
    },
    /// Its target is registered, and cannot be had with its options.
    #[error(transparent)]
    Target(#[from] RegistryError),
    /// A run fails or takes too much; an interruption; a defect.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The target's kernels compute something else than the host, by which the artifact is sound: a sentence for each layer.
    #[error("{}", .0.join("; "))]
    Kernels(Vec<String>),
    /// A sample that was given cannot be used.
    #[error("sample {index}: {fault}")]
    Sample {
        /// Which one.
        index: usize,
        /// The fault of it.
        fault: String,
    },
    /// A pattern chooses no layer.
    #[error("no layer is called `{pattern}`")]
    NoLayer {
        /// The pattern.
        pattern: String,
        /// Names that are near it.
        near: Vec<String>,
    },
}

impl Error {
    /// The code by which programs know it.
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
