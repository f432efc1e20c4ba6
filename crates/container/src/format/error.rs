/// Why bytes are not a container that this version reads. The file is at fault: it is damaged, or another version wrote
/// it.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The file is not a container, since it does not begin with the signature.
    #[error("this is not a container: it does not start with the container's signature")]
    Signature,
    /// The container has another major version.
    #[error(
        "this is a container of version {found}.x; this version of strait reads {}.x",
        super::MAJOR
    )]
    Major {
        /// Major version of the file.
        found: u16,
    },
    /// The container has a section that must not be skipped, and this version does not know it.
    #[error("section `{name}` must not be skipped, but this version of strait does not know it")]
    UnknownSection {
        /// Name of the section.
        name: String,
    },
    /// A section that every container has is missing.
    #[error("section `{name}` is missing")]
    MissingSection {
        /// Name of the section.
        name: &'static str,
    },
    /// The bytes do not match their checksum.
    #[error("the {what} is damaged: its checksum differs")]
    Checksum {
        /// What the checksum covers: the header, or a named section.
        what: String,
    },
    /// Parts of the file contradict each other.
    #[error("the container is damaged: {0}")]
    Damaged(String),
}

pub(crate) fn damaged<T>(text: impl Into<String>) -> Result<T, FormatError> {
    Err(FormatError::Damaged(text.into()))
}
