//! Reason why work stopped early.

use strait_compile::CompileError;
use strait_evaluate::EvaluateError;
use strait_execute::ExecuteError;

use crate::{
    diagnostic::{Diagnostic, Diagnostics},
    failure,
};

/// The error type of everything that the driver does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Something is wrong with the configuration, the model, the data, a target, or the machine.
    #[error("{0}")]
    Found(Diagnostics),
    /// The user asked for it.
    #[error("interrupted")]
    Interrupted,
    /// Our own fault.
    #[error("defect in Strait: {0}")]
    Defect(String),
}

impl From<Diagnostics> for Stop {
    fn from(found: Diagnostics) -> Stop {
        Stop::Found(found)
    }
}

impl From<Diagnostic> for Stop {
    fn from(found: Diagnostic) -> Stop {
        Stop::Found(found.into())
    }
}

impl From<ExecuteError> for Stop {
    fn from(error: ExecuteError) -> Stop {
        failure::execute(error)
    }
}

impl From<EvaluateError> for Stop {
    fn from(error: EvaluateError) -> Stop {
        failure::evaluate(error)
    }
}

impl From<CompileError> for Stop {
    fn from(error: CompileError) -> Stop {
        failure::compile(error)
    }
}

/// Takes away what a process leaves that ends in the middle of its work: folders and files that are not yet in place.
/// For the moment before it ends.
pub fn leave_nothing() {
    strait_container::remove_leftovers();
}
