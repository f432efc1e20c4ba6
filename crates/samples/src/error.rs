//! Errors of stored samples.

use std::{fmt::Display, path::Path};

use strait_core::codes;

/// Why stored data cannot be used. The fault is always in the data, or in the configuration that names the data, and
/// never in Strait.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DataError {
    /// The kind of the error.
    pub kind: Kind,
    /// What is wrong, in one sentence that names the file or the input.
    pub message: String,
    /// Facts that help to understand the error: what was found, and what can be read.
    pub notes: Vec<String>,
    /// Advice for fixing the error.
    pub help: Vec<String>,
}

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file or folder cannot be read.
    File,
    /// The file is truncated, or does not have the format that its name stands for.
    Format,
    /// The numbers have a type that we do not read.
    Type,
    /// A sample does not fit the model's input.
    Shape,
    /// There are no samples, there are too few of them, or inputs have different numbers of samples.
    Count,
    /// There are fewer samples than the user asks for.
    Wanted,
    /// The names of the arrays, files or folders are not the names of the model's inputs.
    Name,
    /// A sample contains NaN or infinity.
    NotFinite,
    /// The preprocessing does not fit the samples.
    Preprocess,
    /// A label is not the number of a class.
    Label,
}

impl Kind {
    /// The error code for this kind. Codes do not change, because programs depend on them.
    pub fn code(self) -> &'static str {
        match self {
            Kind::File => codes::FILE,
            Kind::Format => codes::FORMAT,
            Kind::Type => codes::TYPE,
            Kind::Shape => codes::SAMPLE_SHAPE,
            Kind::Count | Kind::Wanted => codes::NO_SAMPLES,
            Kind::Name => codes::NAME,
            Kind::NotFinite => codes::SAMPLE,
            Kind::Preprocess => codes::PREPROCESSING,
            Kind::Label => codes::LABEL,
        }
    }
}

impl DataError {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> DataError {
        DataError {
            kind,
            message: message.into(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// The error for a file or folder that cannot be read.
    pub(crate) fn unreadable(path: &Path, error: impl Display) -> DataError {
        DataError::new(Kind::File, format!("{} cannot be read: {error}", path.display()))
    }

    #[must_use]
    pub(crate) fn note(mut self, note: impl Into<String>) -> DataError {
        self.notes.push(note.into());
        self
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> DataError {
        self.help.push(help.into());
        self
    }

    /// One sentence that has the message and the notes.
    pub fn sentence(&self) -> String {
        let all: Vec<&str> = std::iter::once(&self.message)
            .chain(&self.notes)
            .map(String::as_str)
            .collect();
        all.join("; ")
    }
}
