//! Meaning of the program's exit codes.

use std::process::ExitCode;

/// End of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Something is wrong with the model, the data, the configuration, a target, or the machine.
    Failed,
    /// The command line was not understood.
    Usage,
    /// The artifact is built, but a gate is not met; or a table's version does not say how it differs from an older one.
    Gate,
    /// An artifact is damaged, or not sound.
    Unsound,
    /// Our own bug.
    Defect,
    /// Stopped by the user.
    Interrupted,
}

impl Exit {
    /// This end, or another one where this one is good.
    pub(crate) fn worse(self, other: Exit) -> Exit {
        if self == Exit::Done { other } else { self }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Gate => 3,
            Exit::Unsound => 4,
            Exit::Defect => 70,
            Exit::Interrupted => INTERRUPTED,
        }
    }
}

/// As shells say it of a program that an interrupt ended.
pub(crate) const INTERRUPTED: u8 = 130;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        exit.code().into()
    }
}
