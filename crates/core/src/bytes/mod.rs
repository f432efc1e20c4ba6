//! IR bytes are the binary form of a module. Modules are stored in containers, and passed to other processes, in this
//! form.
//!
//! `docs/ir-bytes.md` defines the format. Every field is written explicitly, so the order in which Rust code declares
//! fields has no influence. The bytes of constants are stored elsewhere: IR bytes refer to constants by position, and
//! state their element type and shape. The caller of [`decode`] provides the constants. Two modules that differ only in
//! their ids give the same bytes: nodes are in topological order, values are numbered anew, unused constants are left
//! out, and equal constants are merged.

mod configs;
mod decode;
mod encode;
mod grid;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::{Encoded, encode};

use crate::attribute_list::OpError;
use crate::quant::{EntryError, SchemeError};
use crate::tensor::TensorError;
use crate::verifier::Violations;

/// The bytes with which IR bytes begin.
pub const MAGIC: [u8; 8] = *b"STRAITIR";

/// The major version of the format. It is raised if old readers would misunderstand new bytes. Bytes with any other
/// major version are refused.
pub const MAJOR: u16 = 2;

/// The minor version of the format. It is raised if something is added that old readers may skip. Bytes with a later
/// minor version can be read.
pub const MINOR: u16 = 0;

/// The number that stands for an absent operand.
const ABSENT: u32 = u32::MAX;

/// Why [`encode`] or [`decode`] failed. If [`encode`] fails, a pass has a bug. If [`decode`] fails, the bytes are
/// damaged, or a newer version of Strait wrote them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BytesError {
    /// The bytes do not begin with [`MAGIC`].
    #[error("these are not IR bytes of Strait")]
    Magic,
    /// The bytes have a major version that this version of Strait does not read.
    #[error("the IR bytes are of version {0}.{1}, and this version of Strait reads {MAJOR}.{MINOR}: {remedy}", remedy = remedy(*.0))]
    Version(u16, u16),
    /// The bytes end in the middle of an item.
    #[error("the IR bytes end inside {what}, at byte {at}")]
    Truncated {
        /// The item that is cut off.
        what: &'static str,
        /// The position where the item starts.
        at: usize,
    },
    /// A record has bytes after its last known field, although the minor version of the bytes is not newer than
    /// [`MINOR`].
    #[error("{what} does not end where it should, at byte {at} of the IR bytes")]
    Trailing {
        /// The item that has more bytes.
        what: &'static str,
        /// The position where the item should end.
        at: usize,
    },
    /// A number has a value that is not allowed at its position.
    #[error("{found} is not {what}, at byte {at} of the IR bytes")]
    Malformed {
        /// What was expected at that place.
        what: &'static str,
        /// The position of the number.
        at: usize,
        /// The number that was found.
        found: u64,
    },
    /// The bytes have an op of a later version, or one that does not exist.
    #[error("the graph needs the op `{name}` in version {version}, which this version of Strait does not know")]
    UnknownOp {
        /// The name of the op.
        name: String,
        /// The version of the op that the bytes state.
        version: u16,
    },
    /// The bytes have a critical attribute that this version does not know.
    #[error("{of}: the critical attribute `{key}` is not known to this version of Strait")]
    UnknownAttribute {
        /// The op or form with this attribute.
        of: String,
        /// The key of the attribute.
        key: String,
    },
    /// The attributes do not make up an op or a form.
    #[error(transparent)]
    Op(#[from] OpError),
    /// The constant at this position is missing.
    #[error("tensor {0} is not there")]
    MissingTensor(usize),
    /// The bytes of a constant do not match its type.
    #[error("tensor {index}: {error}")]
    Tensor {
        /// The position of the constant.
        index: usize,
        /// What is wrong with the bytes of the constant.
        error: TensorError,
    },
    /// The bytes are not a valid module.
    #[error(transparent)]
    Invalid(#[from] Violations),
    /// The type, the range and the policy of a config contradict each other.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The bytes state a config that is not allowed.
    #[error("config {index} of a graph: {error}")]
    Config {
        /// The position of the config in the table of configs.
        index: usize,
        /// Why the config is not allowed.
        error: EntryError,
    },
    /// A node is on a cycle, or one of its operands has been removed.
    #[error("graph `{0}` is broken: {1}")]
    Broken(String, String),
}

impl BytesError {
    /// True if the bytes have something that only a newer version of Strait can have written.
    pub fn is_newer(&self) -> bool {
        match self {
            BytesError::Version(major, _) => *major > MAJOR,
            BytesError::UnknownOp { .. } | BytesError::UnknownAttribute { .. } => true,
            _ => false,
        }
    }

    /// Returns the error for a number that is not what was expected at this position.
    fn malformed(what: &'static str, at: usize, found: impl Into<u64>) -> BytesError {
        let found = found.into();
        BytesError::Malformed { what, at, found }
    }
}

/// Returns the advice in the error message for bytes of another major version.
fn remedy(major: u16) -> &'static str {
    if major < MAJOR {
        "compile the model again"
    } else {
        "use a later version of Strait"
    }
}
