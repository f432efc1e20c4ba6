//! Limits on the resources of a plugin's worker process.

use serde::{Deserialize, Serialize};

/// Operating-system limits on a plugin's worker, and on each process that the worker starts. No limit changes a bit of
/// any result. A call that reaches a limit fails with an error that names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Bytes of memory that the worker may write to; `None` for no limit. In a call that writes the files of a model,
    /// the memory for the model counts, too.
    pub memory: Option<u64>,
    /// Seconds of processor time for one call, over all threads.
    pub processor: u64,
    /// Largest file, in bytes, that the worker may write by itself.
    pub file: u64,
    /// How many files the worker may have open at a time.
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

/// A worker gets at least this much memory, since it cannot start with less.
const LEAST_MEMORY: u64 = 64 << 20;

impl Allowance {
    /// The same limits, but with `bytes` of memory. If a worker needs more than `bytes` of memory to start, the limit
    /// is the memory that it needs.
    #[must_use]
    pub fn with_memory(self, bytes: Option<u64>) -> Allowance {
        Allowance {
            memory: bytes.map(|bytes| bytes.max(LEAST_MEMORY)),
            ..self
        }
    }
}

/// A limit that a worker has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Used {
    Memory,
    Processor,
    File,
    OpenFiles,
}

impl Used {
    /// A text that names the limit, for an error.
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
