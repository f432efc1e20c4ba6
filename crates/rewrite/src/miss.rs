//! Why a rule returns no patch.

pub(crate) use Miss::NoMatch;
use strait_core::{Outcome, PassError, Patch, Reason, ReasonCode};

/// Why a rule returns no patch for a node.
pub(crate) enum Miss {
    /// The node does not match the rule's pattern.
    NoMatch,
    /// The node matches, but a precondition is not met.
    Refused(Reason),
    /// Strait has a defect.
    Failed(PassError),
}

impl From<PassError> for Miss {
    fn from(error: PassError) -> Miss {
        Miss::Failed(error)
    }
}

impl Miss {
    /// The refusal for a precondition that is not met.
    pub(crate) fn refused(code: ReasonCode, text: impl Into<String>) -> Miss {
        Miss::Refused(Reason::new(code, text))
    }
}

/// The result of a rule that refuses because a precondition is not met.
pub(crate) fn refused<T>(code: ReasonCode, text: impl Into<String>) -> Result<T, Miss> {
    Err(Miss::refused(code, text))
}

/// The answer of a rule.
pub(crate) fn outcome(result: Result<Patch, Miss>) -> Result<Outcome, PassError> {
    match result {
        Ok(patch) => Ok(Outcome::Apply(patch)),
        Err(NoMatch) => Ok(Outcome::NoMatch),
        Err(Miss::Refused(reason)) => Ok(Outcome::Refused(reason)),
        Err(Miss::Failed(error)) => Err(error),
    }
}
