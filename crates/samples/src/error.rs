//! The errors of stored samples.

use strait_core::codes;

/// The stored data cannot be used. The fault is the data's, or that of the configuration that names the data; it is never
/// Strait's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DataError {
    /// The kind of fault.
    pub kind: Kind,
    /// The fault in one sentence, which names the file or the input.
    pub message: String,
    /// Facts that bear on the fault: what is there, what is read.
    pub notes: Vec<String>,
    /// Advice.
    pub help: Vec<String>,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file or folder cannot be read.
    File,
    /// The file is not what its name says, or it is cut short.
    Format,
    /// The numbers are of a type that is not read.
    Type,
    /// A sample does not fit the model's input.
    Shape,
    /// There are no samples, too few of them, or not the same number for each input.
    Count,
    /// There are fewer samples than are asked for.
    Wanted,
    /// Data and inputs do not correspond by name.
    Name,
    /// A sample contains NaN or infinity.
    NotFinite,
    /// The preprocessing does not fit the samples.
    Preprocess,
    /// A label is not a class.
    Label,
}

impl Kind {
    /// The code of the kind. Codes are stable: programs act on them.
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

    /// The error and the notes, as one sentence.
    pub fn sentence(&self) -> String {
        let all: Vec<&str> = std::iter::once(&self.message)
            .chain(&self.notes)
            .map(String::as_str)
            .collect();
        all.join("; ")
    }
}
