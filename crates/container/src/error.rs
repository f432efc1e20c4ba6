use crate::FormatError;
use std::io;
use std::path::{Path, PathBuf};
use strait_core::bytes::BytesError;
use strait_core::codes;
use strait_file_names::NameError;

/// Why an artifact cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The operating system refused: a file is missing, rights are missing, or the disk is full. The environment is at
    /// fault.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder that the error is about.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The folder is not an artifact that Strait has written. The caller, who named the folder, is at fault.
    #[error("{} is not an artifact: {reason}", .path.display())]
    NotAnArtifact {
        /// The folder that is not an artifact.
        path: PathBuf,
        /// What is missing in the folder, or wrong with it.
        reason: String,
    },
    /// The artifact has an older version, which this program does not read any more.
    #[error(
        "{} is an artifact of schema {found}, and this version of strait reads schema {known}: compile it again{}",
        .path.display(), .made_by.as_deref().map(|version| format!(", or use strait {version}, which made it")).unwrap_or_default()
    )]
    Older {
        /// The artifact's folder.
        path: PathBuf,
        /// Version of the artifact.
        found: u64,
        /// The version that this program reads.
        known: u64,
        /// The version of strait that made the artifact, if the manifest says it.
        made_by: Option<String>,
    },
    /// A newer program made the artifact. Nothing is wrong with the artifact.
    #[error("{}: {file} {what}: the artifact is newer than this program, strait {}; {}", .path.display(), VERSION, use_newer(.made_by.as_deref()))]
    Newer {
        /// The artifact's folder.
        path: PathBuf,
        /// Name of the file that this program cannot read.
        file: String,
        /// What this program does not know, such as `is of schema 5, and schema 4 is read`.
        what: String,
        /// The version of strait that made the artifact, if the manifest says it.
        made_by: Option<String>,
    },
    /// The output folder contains something other than an artifact. Its contents would be lost if an artifact were
    /// written there.
    #[error("{} is not replaced: {reason}", .path.display())]
    Occupied {
        /// The output folder.
        path: PathBuf,
        /// What was found in the folder.
        reason: String,
    },
    /// The manifest lists no file of this name.
    #[error("{} has no file `{name}`", .path.display())]
    NoSuchFile {
        /// The artifact's folder.
        path: PathBuf,
        /// Name of the file that was asked for.
        name: String,
    },
    /// A file of the artifact differs from what the manifest says about the file.
    #[error("{}: {name} is damaged: {reason}", .path.display())]
    Damaged {
        /// The artifact's folder.
        path: PathBuf,
        /// Name of the file that differs.
        name: String,
        /// How the file differs from the manifest.
        reason: String,
    },
    /// Another artifact took the place of this one while it was read. Nobody is at fault, and the caller can try again.
    #[error("{} was replaced while it was read; try again", .path.display())]
    Replaced {
        /// The artifact's folder.
        path: PathBuf,
    },
    /// The container file cannot be read or made.
    #[error("{}: {source}", .path.display())]
    Model {
        /// Path of the container file.
        path: PathBuf,
        /// What is wrong with the container file.
        source: ModelError,
    },
    /// A file of an artifact cannot have this name. The target, whose writer chose the name, is at fault.
    #[error("`{}` is no file of an artifact: {fault}", .name.escape_debug())]
    FileName {
        /// Name of the file.
        name: String,
        /// The rule that the name breaks.
        fault: NameError,
    },
    /// The manifest would exceed the maximum length that readers accept, because its description of the artifact's
    /// origin is too long.
    #[error("the manifest of {} would have {bytes} bytes, and {most} are the most that are read", .path.display())]
    LongManifest {
        /// The artifact's folder.
        path: PathBuf,
        /// Length that the manifest would have, in bytes.
        bytes: u64,
        /// Maximum length that readers accept, in bytes.
        most: u64,
    },
}

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What to do about an artifact that a newer program made.
fn use_newer(made_by: Option<&str>) -> String {
    match made_by {
        Some(version) if version != VERSION => format!("use strait {version}, which made it, or a later one"),
        _ => "use the strait that made it, or a later one".to_owned(),
    }
}

/// True if the version `one` is later than `other`: `0.10.0` is later than `0.9.3`.
pub(crate) fn is_later(one: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        let release = version.split(['-', '+']).next().unwrap_or_default();
        release.split('.').map(|part| part.parse().unwrap_or(0)).collect()
    };
    numbers(one) > numbers(other)
}

impl ArtifactError {
    /// The stable code by which programs recognize the error.
    pub fn code(&self) -> &'static str {
        match self {
            // This program supports the version of the manifest, so it should be able to read the listed files, too. If
            // it cannot, the artifact is damaged.
            ArtifactError::Damaged { .. } | ArtifactError::Model { .. } | ArtifactError::NoSuchFile { .. } => {
                codes::DAMAGED
            }
            _ => codes::ARTIFACT,
        }
    }

    /// Makes an error from an error of the operating system that concerns `path`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> ArtifactError {
        move |source| ArtifactError::Io {
            path: path.into(),
            source,
        }
    }
}

/// Why a container file cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The container is damaged or of another version.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// When reading: the IR bytes are damaged or have another version. When writing: the module cannot be stored.
    #[error(transparent)]
    Graphs(#[from] BytesError),
    /// The section with the certificates is damaged.
    #[error("section `certificates`: {0}")]
    Certificates(serde_json::Error),
    /// The section with the certificates is too long.
    #[error("section `certificates` has {0} bytes, which is more than is read")]
    TooManyCertificates(usize),
    /// No model was added to the artifact. The caller is at fault.
    #[error("an artifact needs a model")]
    Missing,
}

impl ModelError {
    /// True if the file has something that only a newer program can have written.
    pub(crate) fn is_newer(&self) -> bool {
        match self {
            ModelError::Format(FormatError::Major { found }) => *found > crate::format::MAJOR,
            ModelError::Format(FormatError::UnknownSection { .. }) => true,
            ModelError::Graphs(error) => error.is_newer(),
            _ => false,
        }
    }
}
