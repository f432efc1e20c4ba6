//! The behaviour of a library, apart from the codes that it computes: the ways in which test calls ask it for codes,
//! what it must not do in a call, and the state of its process.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The way in which test calls ask a library for the codes of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trial {
    /// Each tile is computed in a single call.
    Once,
    /// Each tile is computed in several calls, with guard bytes around the accumulators and the codes. The memory for
    /// the codes is filled with different bytes before each call.
    Alone,
    /// Each tile is computed with guard pages before and after all memory that is handed over, and only the codes are
    /// in writable memory. Reading or writing beyond this memory crashes.
    Fenced,
    /// All tiles are computed at once, each on a thread of its own.
    Together {
        /// How often each thread calls the library.
        rounds: u32,
    },
    /// A tile is computed some thousand times.
    Often,
}

/// Something that a library must not do in a call. Positions are indices of codes in their tile. If a misdeed has two
/// codes, they are in the order of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Misdeed {
    /// The library writes to memory before the codes.
    Before,
    /// The library writes to memory after the codes.
    Behind,
    /// The library writes into the accumulators, or next to them.
    Accumulators,
    /// The library writes into the form or the tile.
    Structs,
    /// The library leaves one of the codes unwritten.
    Unwritten {
        /// Index of the code within its tile.
        at: u64,
    },
    /// The same call, made again, gives a different code.
    Again {
        /// Index of the code within its tile.
        at: u64,
        /// The codes that the first and the second call gave.
        codes: [i32; 2],
    },
    /// A code depends on the bytes around the accumulators in memory.
    Around {
        /// Index of the code within its tile.
        at: u64,
        /// The codes that the first and the second call gave.
        codes: [i32; 2],
    },
    /// Called on several threads at once, the library gives a different code.
    Together {
        /// Index of the tile.
        tile: u64,
        /// Index of the code within its tile.
        at: u64,
        /// The codes that the first and the second call gave.
        codes: [i32; 2],
    },
}

/// The parts of a process's state that calls of the library could have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traces {
    /// True if the system provides this information.
    pub known: bool,
    /// Id of the process.
    pub process: u32,
    /// Number of threads.
    pub threads: u64,
    /// Number of open files.
    pub files: u64,
    /// Number of running processes that the process has started.
    pub children: u64,
    /// Bytes of memory in use.
    pub memory: u64,
    /// Settings that a call must not change, by name.
    pub settings: BTreeMap<String, String>,
}
