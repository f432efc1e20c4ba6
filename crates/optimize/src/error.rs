//! Why an optimisation failed.

use std::io;
use strait_core::TensorError;
use strait_exchange::ExchangeError;
use strait_execute::{Excess, ExecuteError, SampleError};
use strait_lower::LowerError;

/// Why an optimisation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A sample cannot be used.
    #[error("calibration sample {index}: {text}")]
    Sample {
        /// The index of the sample.
        index: usize,
        /// What is wrong with it.
        text: String,
    },
    /// A run would take more than its limits allow.
    #[error(transparent)]
    Excess(#[from] Box<Excess>),
    /// A graph cannot be run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// A temporary file for values cannot be used.
    #[error("a temporary file for the values between layers: {0}")]
    File(#[from] io::Error),
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
    /// A defect of the compiler.
    #[error("{0}")]
    Defect(String),
}

impl Error {
    pub(crate) fn of_exchange(error: ExchangeError) -> Error {
        match error {
            ExchangeError::Stopped => Error::Stopped,
            error => Error::Execute(error.into()),
        }
    }

    pub(crate) fn of_sample(error: SampleError<Error>) -> Error {
        match error {
            SampleError::Sample { source, .. } => source,
            SampleError::Worker(error) => Error::Execute(error),
            SampleError::Stopped { .. } => Error::Stopped,
        }
    }
}

impl From<TensorError> for Error {
    fn from(error: TensorError) -> Error {
        Error::Defect(error.to_string())
    }
}

impl From<LowerError> for Error {
    fn from(error: LowerError) -> Error {
        Error::Defect(error.to_string())
    }
}
