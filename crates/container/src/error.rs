use crate::ModelError;
use std::io;
use std::path::{Path, PathBuf};
use strait_core::codes;
use strait_file_names::NameError;

/// Reason why an artifact cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The system refuses: a missing file, missing rights, a full disk. The fault is the environment's.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The folder is none of ours. The fault is the caller's, who named it.
    #[error("{} is not an artifact: {reason}", .path.display())]
    NotAnArtifact {
        /// The folder.
        path: PathBuf,
        /// The part that is missing or wrong.
        reason: String,
    },
    /// It is an artifact of another version.
    #[error("{} is an artifact of schema {found}; this version of strait reads schema {known}", .path.display())]
    Schema {
        /// The folder.
        path: PathBuf,
        /// The artifact's.
        found: u64,
        /// Ours.
        known: u64,
    },
    /// The output folder holds something that a new artifact would take away.
    #[error("{} is not replaced: {reason}", .path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// Content that was found.
        reason: String,
    },
    /// The manifest lists no such file.
    #[error("{} has no file `{name}`", .path.display())]
    NoSuchFile {
        /// The folder.
        path: PathBuf,
        /// The file that was asked for.
        name: String,
    },
    /// A file is not the one that the manifest describes.
    #[error("{}: {name} is damaged: {reason}", .path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// The file in it.
        name: String,
        /// The part that differs.
        reason: String,
    },
    /// Another artifact has taken its place while it was read. The fault is nobody's: read again.
    #[error("{} was replaced while it was read; try again", .path.display())]
    Replaced {
        /// The folder.
        path: PathBuf,
    },
    /// The container file cannot be read or made.
    #[error("{}: {source}", .path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// Description of the error.
        source: ModelError,
    },
    /// A file cannot have this name. The fault is the target's, whose writer named it.
    #[error("`{}` is no file of an artifact: {fault}", .name.escape_debug())]
    FileName {
        /// The name.
        name: String,
        /// The rule that it breaks.
        fault: NameError,
    },
    /// A manifest that nobody would read, since its origin takes so much room.
    #[error("the manifest of {} would have {bytes} bytes, and {most} are the most that are read", .path.display())]
    LongManifest {
        /// The folder.
        path: PathBuf,
        /// The length of its manifest.
        bytes: u64,
        /// The longest that is read.
        most: u64,
    },
}

impl ArtifactError {
    /// The code by which programs know it.
    pub fn code(&self) -> &'static str {
        match self {
            // A manifest of this version speaks of files that this version reads.
            ArtifactError::Damaged { .. } | ArtifactError::Model { .. } | ArtifactError::NoSuchFile { .. } => {
                codes::DAMAGED
            }
            _ => codes::ARTIFACT,
        }
    }

    /// Adds the path to what the system said.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> ArtifactError {
        move |source| ArtifactError::Io {
            path: path.into(),
            source,
        }
    }
}
