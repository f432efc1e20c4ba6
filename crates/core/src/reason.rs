//! Why something did not happen.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Why a rule refused, a node stayed on the host or an input was rejected: a stable code for programs and a
/// sentence for people. The code is chosen where the decision is made, never when it is printed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{text} [{code}]")]
pub struct Reason {
    /// Stable, kebab-case, e.g. `conv-group-limit`.
    pub code: Cow<'static, str>,
    /// The sentence, with the arguments in it.
    pub text: String,
}

impl Reason {
    /// A reason with a code that is known at compile time.
    pub fn new(code: &'static str, text: impl Into<String>) -> Reason {
        Reason {
            code: Cow::Borrowed(code),
            text: text.into(),
        }
    }
}
