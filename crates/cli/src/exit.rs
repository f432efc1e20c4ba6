//! The program's exit codes.

use std::process::ExitCode;

/// How the program ended. Each variant has an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The work is done.
    Done,
    /// Something is wrong with the model, the data, the configuration, a target, or the machine.
    Failed,
    /// The command line was not understood.
    Usage,
    /// The artifact is built, but a gate is not met. Also used if the version number of a table was not raised as its
    /// differences from an older table require.
    Gate,
    /// An artifact is damaged or not sound.
    Unsound,
    /// There is a bug in Strait.
    Defect,
    /// The user stopped the program.
    Interrupted,
}

impl Exit {
    /// Combines the exit codes of two parts of a command: returns the first one that is not success, or success if both
    /// are.
    pub(crate) fn worse(self, other: Exit) -> Exit {
        if self == Exit::Done { other } else { self }
    }

    /// Returns success if `fine` is true, and this exit code otherwise.
    pub(crate) fn unless(self, fine: bool) -> Exit {
        if fine { Exit::Done } else { self }
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

/// The code that shells report for a program that was ended by an interrupt.
pub(crate) const INTERRUPTED: u8 = 130;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        exit.code().into()
    }
}
