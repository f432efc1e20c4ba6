//! IR bytes: a module as bytes, in the container and wherever a graph leaves the process.
//!
//! The format is laid down in `docs/ir-bytes.md`. Every field is written explicitly, nothing follows from the order of
//! a declaration. Tensors are out of band: the bytes name them by position, with element type and shape, and whoever
//! stores them hands them back. The same module gives the same bytes, whatever the history of its ids: nodes are in
//! topological order, values are numbered anew, tensors that nothing uses are left out and equal ones are one.

mod configs;
mod decode;
mod encode;
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

/// The first bytes.
pub const MAGIC: [u8; 8] = *b"STRAITIR";

/// Raised when old readers would misunderstand new bytes; another one is refused.
pub const MAJOR: u16 = 2;

/// Raised when something is added that old readers may skip; a later one is read.
pub const MINOR: u16 = 0;

/// Stands for an operand that is absent.
const ABSENT: u32 = u32::MAX;

/// Error of [`encode`] (a defect of a pass) or of [`decode`] (damaged or newer bytes).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BytesError {
    /// Not IR bytes at all.
    #[error("these are not IR bytes of Strait")]
    Magic,
    /// Of another major version.
    #[error("the IR bytes are of version {0}.{1}, and this version of Strait reads {MAJOR}.{MINOR}: {remedy}", remedy = remedy(*.0))]
    Version(u16, u16),
    /// They end in the middle of something.
    #[error("the IR bytes end inside {what}, at byte {at}")]
    Truncated {
        /// Of what.
        what: &'static str,
        /// Where it starts.
        at: usize,
    },
    /// A record that goes on behind its last field, in bytes that are not of a later version.
    #[error("{what} does not end where it should, at byte {at} of the IR bytes")]
    Trailing {
        /// Part that has bytes behind its end.
        what: &'static str,
        /// Where it should end.
        at: usize,
    },
    /// A number that means nothing there.
    #[error("{found} is not {what}, at byte {at} of the IR bytes")]
    Malformed {
        /// Part that was expected.
        what: &'static str,
        /// Where.
        at: usize,
        /// Number that was found.
        found: u64,
    },
    /// An op of a later version, or one that does not exist.
    #[error("the graph needs the op `{name}` in version {version}, which this version of Strait does not know")]
    UnknownOp {
        /// The op.
        name: String,
        /// Its version.
        version: u16,
    },
    /// A critical attribute that is not known.
    #[error("{of}: the critical attribute `{key}` is not known to this version of Strait")]
    UnknownAttribute {
        /// The op or form that has it.
        of: String,
        /// Its key.
        key: String,
    },
    /// Attributes that do not make an op or a form.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A tensor that is not there.
    #[error("tensor {0} is not there")]
    MissingTensor(usize),
    /// A tensor whose bytes are not what its type says.
    #[error("tensor {index}: {error}")]
    Tensor {
        /// Which one.
        index: usize,
        /// Error of the tensor.
        error: TensorError,
    },
    /// The bytes are not a valid module.
    #[error(transparent)]
    Invalid(#[from] Violations),
    /// The type, the range and the policy of a config contradict each other.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// A config that cannot stand as the bytes say.
    #[error("config {index} of a graph: {error}")]
    Config {
        /// Its position.
        index: usize,
        /// Why.
        error: EntryError,
    },
    /// A node on a cycle, or an operand that was removed.
    #[error("graph `{0}` is broken: {1}")]
    Broken(String, String),
}

/// Advice to somebody whose bytes have another major version.
fn remedy(major: u16) -> &'static str {
    if major < MAJOR {
        "compile the model again"
    } else {
        "use a later version of Strait"
    }
}
