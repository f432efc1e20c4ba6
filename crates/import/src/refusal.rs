//! Reasons why a node is not read.

use strait_core::{Reason, ReasonCode, TensorError};

/// Reason why a node is not read.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// We lack something.
    Unsupported(String),
    /// The model contradicts itself.
    Invalid(Reason),
    /// An operand comes from a node that was refused; nothing more is to be said.
    Unknown,
}

impl Refusal {
    /// The model contradicts itself.
    pub fn invalid(code: ReasonCode, text: impl Into<String>) -> Refusal {
        Refusal::Invalid(Reason::new(code, text))
    }

    /// We lack something.
    pub fn unsupported(text: impl Into<String>) -> Refusal {
        Refusal::Unsupported(text.into())
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        Refusal::Invalid(reason)
    }
}

/// A constant whose elements are not what they should be.
impl From<TensorError> for Refusal {
    fn from(error: TensorError) -> Refusal {
        Refusal::invalid(ReasonCode::Constant, error.to_string())
    }
}
