//! The limits of this machine.

pub use strait_execute::{Demand, Limits, Operations};

use crate::machine;

/// Four fifths of the memory of the machine, or of what its container allows, and a sensible number of operations.
pub fn of_machine() -> Limits {
    Limits {
        memory: machine::memory().map(|bytes| bytes / 5 * 4),
        operations: Operations::Sensible,
    }
}
