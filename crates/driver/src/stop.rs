//! Why the work stopped early.

use crate::diagnostic::{Diagnostic, Diagnostics};

/// The error type of everything that the driver does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Something is wrong with the configuration, the model, the data, a target, or the machine.
    #[error("{0}")]
    Found(Diagnostics),
    /// The user interrupted the work.
    #[error("interrupted")]
    Interrupted,
    /// Strait itself has a bug, which the text describes.
    #[error("defect in Strait: {0}")]
    Defect(String),
}

impl Stop {
    /// Adds a note to each finding.
    pub(crate) fn note(self, note: &str) -> Stop {
        match self {
            Stop::Found(Diagnostics(found)) => {
                Diagnostics(found.into_iter().map(|finding| finding.note(note)).collect()).into()
            }
            other => other,
        }
    }
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

/// Removes the temporary files and folders of this process. Call it just before a process ends in the middle of its
/// work.
pub fn leave_nothing() {
    strait_container::remove_leftovers();
}
