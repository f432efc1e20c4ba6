//! Reasons for refusals, and for nodes that stay on the host.

use crate::reason_code::ReasonCode;
use serde::{Deserialize, Serialize};

/// The reason why a rule refused, a node stayed on the host, or an input was rejected. It has a stable code for
/// programs, and a sentence for people. The function that makes a decision also makes the reason for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error, Serialize, Deserialize)]
#[error("{text} [{code}]")]
pub struct Reason {
    /// The code, out of a closed list.
    pub code: ReasonCode,
    /// The sentence, including its arguments.
    pub text: String,
}

impl Reason {
    /// Makes a reason with this code and sentence.
    pub fn new(code: ReasonCode, text: impl Into<String>) -> Reason {
        let text = text.into();
        Reason { code, text }
    }
}

/// Returns an error with a reason that has this code and sentence.
pub fn refused<T, E: From<Reason>>(code: ReasonCode, text: impl Into<String>) -> Result<T, E> {
    Err(Reason::new(code, text).into())
}
