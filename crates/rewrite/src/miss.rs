//! Why a rule returns no patch.

pub(crate) use Miss::NoMatch;
use strait_core::{Outcome, PassError, Patch, Reason};

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

impl From<Reason> for Miss {
    fn from(reason: Reason) -> Miss {
        Miss::Refused(reason)
    }
}

/// Converts the result of a rule's function to the rule's outcome.
pub(crate) fn outcome(result: Result<Patch, Miss>) -> Result<Outcome, PassError> {
    match result {
        Ok(patch) => Ok(Outcome::Apply(patch)),
        Err(NoMatch) => Ok(Outcome::NoMatch),
        Err(Miss::Refused(reason)) => Ok(Outcome::Refused(reason)),
        Err(Miss::Failed(error)) => Err(error),
    }
}
