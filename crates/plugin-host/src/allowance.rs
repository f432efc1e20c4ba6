//! Limits of the worker of a plugin.

use serde::{Deserialize, Serialize};

/// Limits of the system on the worker of a plugin, and on each process that it starts. None of them changes a bit of any
/// result: a call that needs more is an error that says which of them it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Bytes of memory that it may write to: those of a model whose files it writes belong to them. `None` for all that
    /// there is.
    pub memory: Option<u64>,
    /// Seconds of processor time for a call, of all threads together.
    pub processor: u64,
    /// Bytes of a file that it writes by itself.
    pub file: u64,
    /// Files that are open at a time.
    pub open_files: u64,
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance {
            memory: None,
            processor: 3600,
            file: 4 << 30,
            open_files: 1024,
        }
    }
}

/// The least memory with which a worker starts.
const LEAST_MEMORY: u64 = 64 << 20;

impl Allowance {
    /// The same with so much memory, or with the least with which a worker starts.
    #[must_use]
    pub fn with_memory(self, bytes: Option<u64>) -> Allowance {
        Allowance {
            memory: bytes.map(|bytes| bytes.max(LEAST_MEMORY)),
            ..self
        }
    }
}

/// A limit that is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Used {
    Memory,
    Processor,
    File,
    OpenFiles,
}

impl Used {
    /// The limit in words.
    pub(crate) fn said(self, allowance: &Allowance) -> String {
        match self {
            Used::Memory => match allowance.memory {
                Some(bytes) => format!("its memory: it may have {} (`--memory`)", size(bytes)),
                None => "the memory of this machine".to_owned(),
            },
            Used::Processor => format!("its processor time: a call may take {} s of it", allowance.processor),
            Used::File => format!("its room in a file: one may have {}", size(allowance.file)),
            Used::OpenFiles => format!("its open files: it may have {} at a time", allowance.open_files),
        }
    }
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{bytes} bytes"),
        mebibytes => format!("{mebibytes} MiB"),
    }
}
