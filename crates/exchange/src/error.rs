//! Why results could not be exchanged.

use crate::share::Share;
use std::io;
use std::path::{Path, PathBuf};

/// Why results could not be exchanged with the processes that have the other shares.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    /// A file or the folder cannot be written or read.
    #[error("{}: {text}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        text: String,
    },
    /// A file is damaged, or no file of an exchange of this version.
    #[error("{} is damaged, or was not written by this version of Strait", .0.display())]
    Damaged(PathBuf),
    /// Another share works on something else.
    #[error("share {share} has another {what} than share {own}: {}", path.display())]
    Different {
        /// The share of this process.
        own: Share,
        /// The other share.
        share: Share,
        /// What is different.
        what: String,
        /// The file of the other share.
        path: PathBuf,
    },
    /// The folder has files of another number of shares.
    #[error("{} is of {found}, and this process has {own}", path.display())]
    Parts {
        /// The share of this process.
        own: Share,
        /// The share that the file is of.
        found: Share,
        /// The file.
        path: PathBuf,
    },
    /// Another share does not do the same steps.
    #[error("share {share} is not at the step `{step}` that share {own} is at, or comes to it with other results: {}", path.display())]
    OutOfStep {
        /// The share of this process.
        own: Share,
        /// The other share.
        share: Share,
        /// The step of this process.
        step: String,
        /// The file of the other share.
        path: PathBuf,
    },
    /// This process has other results than a process with the same share had before.
    #[error("share {share} now has another result at the step `{step}` than when {} was written", path.display())]
    Changed {
        /// The share.
        share: Share,
        /// The step.
        step: String,
        /// The file with the earlier result.
        path: PathBuf,
    },
    /// Nothing came from another share for too long.
    #[error("share {share} has delivered nothing for the step `{step}` in {seconds} s: {} is missing", path.display())]
    Missing {
        /// The share.
        share: Share,
        /// The step.
        step: String,
        /// How long this process has waited.
        seconds: u64,
        /// The file that is missing.
        path: PathBuf,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

impl ExchangeError {
    pub(crate) fn file(path: &Path, error: &io::Error) -> ExchangeError {
        ExchangeError::File {
            path: path.to_owned(),
            text: error.to_string(),
        }
    }

    /// What the user can do.
    pub fn help(&self) -> &'static str {
        match self {
            ExchangeError::File { .. } => "all shares need the folder, and have to be allowed to write in it",
            ExchangeError::Damaged(_) => "remove the file, and start the share again that it is of",
            ExchangeError::Different { .. } | ExchangeError::Parts { .. } => {
                "start all shares with the same command, apart from the number of the share; if the file is of an earlier \
                 compilation, name an empty folder"
            }
            ExchangeError::OutOfStep { .. } | ExchangeError::Changed { .. } => {
                "all shares need the same version of Strait; name an empty folder and start all of them again"
            }
            ExchangeError::Missing { .. } => "start this share again; the others go on as soon as it delivers",
            ExchangeError::Stopped => "",
        }
    }
}
