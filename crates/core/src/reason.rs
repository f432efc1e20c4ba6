//! Reason why something did not happen.

use crate::reason_code::ReasonCode;
use serde::{Deserialize, Serialize};

/// Reason why a rule refused, a node stayed on the host or an input was rejected: a stable code for programs and a
/// sentence for people. The code is chosen where the decision is made, never when it is printed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{text} [{code}]")]
pub struct Reason {
    /// One of a closed list.
    pub code: ReasonCode,
    /// The sentence, with the arguments in it.
    pub text: String,
}

impl Reason {
    /// A reason with its code.
    pub fn new(code: ReasonCode, text: impl Into<String>) -> Reason {
        let text = text.into();
        Reason { code, text }
    }
}
