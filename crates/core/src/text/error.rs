//! Errors in a text, and their positions.

use crate::attribute_list::OpError;
use crate::quant::{EntryError, SchemeError};
use crate::tensor::TensorError;
use std::fmt;

/// A position in a text. Lines and columns count from 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a text is not a module: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{at}: {fault}")]
pub struct TextError {
    /// Where the error is in the text.
    pub at: Position,
    /// What is wrong.
    pub fault: TextFault,
}

/// What is wrong with the text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TextFault {
    /// Something else was expected at this position.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What may stand at this position.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A name is not defined. Values have to be defined before their first use; constants and graphs may be defined
    /// anywhere.
    #[error("`{0}` is not defined{1}")]
    Unknown(String, &'static str),
    /// A name is defined twice.
    #[error("`{0}` is defined twice; write `{0}~1` for a second one")]
    Twice(String),
    /// The number in `name~number` is not the next number for that name.
    #[error("`{0}` is out of order: the things of one name are numbered from 0 without a gap")]
    Ordinal(String),
    /// A limit of the format is exceeded.
    #[error("{what} is past the limit of {limit}")]
    Limit {
        /// What exceeds the limit.
        what: &'static str,
        /// The limit that is exceeded.
        limit: u64,
    },
    /// An op does not exist, or does not have an attribute that the text states.
    #[error(transparent)]
    Op(#[from] OpError),
    /// The elements of a tensor do not fit its type.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The type, the range and the policy of a scheme contradict each other.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The text states a config that is not allowed.
    #[error(transparent)]
    Config(#[from] EntryError),
    /// The text refers to a blob that the container beside it does not have.
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

    /// Returns the error that `what` exceeds a limit of the format.
    pub(super) fn past(self, what: &'static str, limit: u64) -> TextError {
        self.fault(TextFault::Limit { what, limit })
    }

    pub(super) fn expected(self, expected: impl Into<String>, found: impl Into<String>) -> TextError {
        self.fault(TextFault::Expected {
            expected: expected.into(),
            found: found.into(),
        })
    }
}
