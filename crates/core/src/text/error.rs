//! Error in a text, and its place.

use crate::attribute_list::OpError;
use crate::quant::{EntryError, SchemeError};
use crate::tensor::TensorError;
use std::fmt;

/// A place in a text, counted from 1; columns are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A text that is not a module. The fault is whoever wrote it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{at}: {fault}")]
pub struct TextError {
    /// Where.
    pub at: Position,
    /// The error.
    pub fault: TextFault,
}

/// Description of the error.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TextFault {
    /// Something else belongs there.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// Text that would be right.
        expected: String,
        /// Text that was found.
        found: String,
    },
    /// A name that nothing above has, for values, or nothing at all, for constants and graphs.
    #[error("`{0}` is not defined{1}")]
    Unknown(String, &'static str),
    /// A name that is defined a second time.
    #[error("`{0}` is defined twice; write `{0}~1` for a second one")]
    Twice(String),
    /// A name whose `~number` is not the next one of that name.
    #[error("`{0}` is out of order: the things of one name are numbered from 0 without a gap")]
    Ordinal(String),
    /// Past a limit of the format.
    #[error("{what} is past the limit of {limit}")]
    Limit {
        /// Thing whose limit is passed.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// An op that does not exist, or that does not know an attribute.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A tensor that contradicts its type.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A scheme whose parts contradict each other.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// A config that cannot stand as the text has it.
    #[error(transparent)]
    Config(#[from] EntryError),
    /// A blob that is not in the container beside the text.
    #[error("blob {0} is not there; a text with blobs is read beside its container")]
    Blob(u64),
}

impl Position {
    pub(super) fn fault(self, fault: impl Into<TextFault>) -> TextError {
        TextError {
            at: self,
            fault: fault.into(),
        }
    }

    pub(super) fn expected(self, expected: impl Into<String>, found: impl Into<String>) -> TextError {
        self.fault(TextFault::Expected {
            expected: expected.into(),
            found: found.into(),
        })
    }
}
