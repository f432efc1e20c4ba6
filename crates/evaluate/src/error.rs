//! Errors of judging a model's answers.

use strait_core::TensorError;

/// Why a model's answers cannot be judged. `help` is advice to the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// The model or the sample is at fault: an output that is to be judged holds NaN or infinity.
    #[error("{message}")]
    NotFinite {
        /// Names the output and the sample.
        message: String,
        /// Advice to the user.
        help: Option<&'static str>,
    },
    /// Whoever combined them is at fault: outputs do not fit the labels, or the outputs of another model.
    #[error("{message}")]
    Unfit {
        /// Names the output and the sample.
        message: String,
        /// Advice to the user.
        help: Option<&'static str>,
    },
    /// The command that computes a user's own metric is at fault: it printed something unexpected. The text continues a
    /// sentence that begins with the command's name.
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
