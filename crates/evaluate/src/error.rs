//! Reasons why answers cannot be judged.

use strait_core::TensorError;

/// Answers cannot be judged. `help` is advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// The fault of the model or of the sample: an output that is to be judged holds NaN or infinity.
    #[error("{message}")]
    NotFinite {
        /// Which, and of which sample.
        message: String,
        /// Advice.
        help: Option<&'static str>,
    },
    /// The fault of whoever put them together: outputs do not fit labels, or those of another model.
    #[error("{message}")]
    Unfit {
        /// Which, and of which sample.
        message: String,
        /// Advice.
        help: Option<&'static str>,
    },
    /// The fault of the command that computes a metric: what it printed says something else. The text goes on behind its name.
    #[error("the command {0}")]
    Printed(String),
    /// Ours.
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

    /// The same with advice.
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
