//! Errors that occur when a model's answers are judged.

use strait_core::TensorError;

/// Why a model's answers cannot be judged. `help` is advice to the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// The model or the sample is at fault: an output that has to be judged contains NaN or infinity.
    #[error("{message}")]
    NotFinite {
        /// The message, which names the output and the sample.
        message: String,
        /// Advice to the user.
        help: Option<&'static str>,
    },
    /// The caller is at fault, because it combined things that do not fit: the outputs do not fit the labels, or do not
    /// fit the outputs of another model.
    #[error("{message}")]
    Unfit {
        /// The message, which names the output and the sample.
        message: String,
        /// Advice to the user.
        help: Option<&'static str>,
    },
    /// The command that computes a user's own metric is at fault, because its output is not what was expected. The text
    /// continues a sentence that begins with the name of the command.
    #[error("the command {0}")]
    Printed(String),
    /// A bug of ours.
    #[error("defect in Strait: {0}")]
    Defect(String),
}

impl EvaluateError {
    pub(crate) fn not_finite(message: String) -> EvaluateError {
        EvaluateError::NotFinite { message, help: None }
    }

    pub(crate) fn unfit(message: String) -> EvaluateError {
        EvaluateError::Unfit { message, help: None }
    }

    /// Adds advice to the error.
    #[must_use]
    pub(crate) fn help(mut self, advice: &'static str) -> EvaluateError {
        if let EvaluateError::NotFinite { help, .. } | EvaluateError::Unfit { help, .. } = &mut self {
            *help = Some(advice);
        }
        self
    }
}

impl From<TensorError> for EvaluateError {
    fn from(error: TensorError) -> EvaluateError {
        EvaluateError::Defect(error.to_string())
    }
}
