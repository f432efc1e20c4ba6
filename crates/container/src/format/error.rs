/// Bytes that are not a container that this version reads. The fault is the file's: damaged, or written by another version.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// It is something else.
    #[error("this is not a container: it does not start with the container's signature")]
    Signature,
    /// It is a container of another kind.
    #[error(
        "this is a container of version {found}.x; this version of strait reads {}.x",
        super::MAJOR
    )]
    Major {
        /// The file's.
        found: u16,
    },
    /// It has a section that must not be skipped and that this version does not know.
    #[error("section `{name}` must not be skipped, but this version of strait does not know it")]
    UnknownSection {
        /// Its name.
        name: String,
    },
    /// A section that every container has is not there.
    #[error("section `{name}` is missing")]
    MissingSection {
        /// Its name.
        name: &'static str,
    },
    /// The bytes are not those that were written.
    #[error("the {what} is damaged: its checksum differs")]
    Checksum {
        /// The header, or which section.
        what: String,
    },
    /// The parts contradict each other.
    #[error("the container is damaged: {0}")]
    Damaged(String),
}

pub(crate) fn damaged<T>(text: impl Into<String>) -> Result<T, FormatError> {
    Err(FormatError::Damaged(text.into()))
}
