//! The default limits for runs on this machine.

pub use strait_execute::{Demand, Limits, Operations};

use crate::machine;

/// Limits runs to four fifths of the memory of the machine or its container, and to a reasonable number of operations.
pub fn of_machine() -> Limits {
    Limits {
        memory: machine::memory().map(|bytes| bytes / 5 * 4),
        operations: Operations::Sensible,
    }
}
