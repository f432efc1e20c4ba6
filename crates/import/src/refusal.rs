//! The reasons why a single node is not read.

use strait_core::{Reason, ReasonCode, TensorError};

/// Why a node is not read.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// We do not support something that the node needs.
    Unsupported(String),
    /// The node contradicts the rest of the model.
    Invalid(Reason),
    /// An operand is the result of a node that was already refused, so this node needs no message of its own.
    Unknown,
}

impl Refusal {
    /// A refusal because the model contradicts itself.
    pub fn invalid(code: ReasonCode, text: impl Into<String>) -> Refusal {
        Refusal::Invalid(Reason::new(code, text))
    }

    /// A refusal because we do not support something.
    pub fn unsupported(text: impl Into<String>) -> Refusal {
        Refusal::Unsupported(text.into())
    }

    /// The same refusal, with a prefix that says where in the node or the model the fault is.
    pub fn within(self, place: &str) -> Refusal {
        match self {
            Refusal::Unsupported(text) => Refusal::Unsupported(format!("{place}: {text}")),
            Refusal::Invalid(reason) => Refusal::invalid(reason.code, format!("{place}: {}", reason.text)),
            Refusal::Unknown => Refusal::Unknown,
        }
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        Refusal::Invalid(reason)
    }
}

/// Converts the error of a constant with malformed elements to a refusal that says that the model is at fault.
impl From<TensorError> for Refusal {
    fn from(error: TensorError) -> Refusal {
        Refusal::invalid(ReasonCode::Constant, error.to_string())
    }
}
