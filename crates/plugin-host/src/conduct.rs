//! How a library behaves besides what it computes: the ways of asking it, what it must not do, and the state of its process.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a library is asked for the codes of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trial {
    /// Each tile is computed in a single call.
    Once,
    /// In several calls, with marks around accumulators and codes, and with other bytes in the place of the codes each
    /// time.
    Alone,
    /// With guard pages before and behind everything, and with only the codes in writable memory. Reading or writing
    /// too far crashes.
    Fenced,
    /// All tiles are computed at once, each on a thread of its own.
    Together {
        /// How often each thread calls the library.
        rounds: u32,
    },
    /// The tile is computed some thousand times.
    Often,
}

/// Something that a library must not do in a call. Positions are indices of codes in their tile. Of two values, the
/// first came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Misdeed {
    /// The library writes before the codes.
    Before,
    /// The library writes behind the codes.
    Behind,
    /// The library writes into the accumulators, or next to them.
    Accumulators,
    /// The library writes into the form or the tile.
    Structs,
    /// The library leaves out a code.
    Unwritten {
        /// Index of the code within its tile.
        at: u64,
    },
    /// A repeated call gives a different code.
    Again {
        /// Index of the code within its tile.
        at: u64,
        /// The codes that the first and the second call gave.
        codes: [i32; 2],
    },
    /// A code depends on what lies around the accumulators.
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

/// What calls may have changed in a process.
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
    /// Number of running processes that it has started.
    pub children: u64,
    /// Bytes of memory in use.
    pub memory: u64,
    /// Settings that a call must leave as they are, by name.
    pub settings: BTreeMap<String, String>,
}
