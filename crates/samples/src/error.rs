//! Errors of stored samples.

use strait_core::codes;

/// Why stored data cannot be used. The fault is in the data, or in the configuration that names the data, never in
/// Strait.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DataError {
    /// What kind of error it is.
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
    /// The file does not have the format that its name says, or is truncated.
    Format,
    /// The numbers have a type that we do not read.
    Type,
    /// A sample does not fit the model's input.
    Shape,
    /// There are no samples, too few of them, or not the same number for each input.
    Count,
    /// There are fewer samples than are asked for.
    Wanted,
    /// The data and the model's inputs do not match by name.
    Name,
    /// A sample contains NaN or infinity.
    NotFinite,
    /// The preprocessing does not fit the samples.
    Preprocess,
    /// A label is not a class.
    Label,
}

impl Kind {
    /// The code of the kind. Codes are stable, because programs depend on them.
    pub fn code(self) -> &'static str {
        match self {
            Kind::File => "D001",
            Kind::Format => "D002",
            Kind::Type => "D003",
            Kind::Shape => codes::SAMPLE_SHAPE,
            Kind::Count | Kind::Wanted => codes::NO_SAMPLES,
            Kind::Name => "D007",
            Kind::NotFinite => codes::SAMPLE,
            Kind::Preprocess => "D009",
            Kind::Label => "D010",
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

    /// The message and the notes, as one sentence.
    pub fn sentence(&self) -> String {
        let all: Vec<&str> = std::iter::once(&self.message)
            .chain(&self.notes)
            .map(String::as_str)
            .collect();
        all.join("; ")
    }
}
