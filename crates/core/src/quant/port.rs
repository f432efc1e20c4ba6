//! The places of a node that have a config.

use std::fmt;

/// A place of a node: one that a value goes in by, or one that it comes out by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port {
    /// The operand at this position.
    Operand(usize),
    /// The result at this position.
    Result(usize),
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Port::Operand(index) => write!(f, "operand {index}"),
            Port::Result(index) => write!(f, "result {index}"),
        }
    }
}
