//! Sets the limits of the process with the library, and finds out which limit it has reached.

#![allow(
    unsafe_code,
    reason = "the system tells the largest memory of ended children in C alone"
)]

use std::{fs, io, mem};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::Allowance;
use crate::allowance::Used;

/// If at least this fraction of the allowed memory (3/4) was in use, the limit is assumed to be the reason why the
/// system refused more memory.
const NEARLY: (u64, u64) = (3, 4);

/// Sets the limits, which cannot be raised again.
pub(super) fn take_on(allowance: &Allowance) -> io::Result<()> {
    if let Some(bytes) = allowance.memory {
        // The limit counts memory that can be written to, but not memory that is only reserved. Some systems do not
        // support this limit.
        let _ = lower(Resource::Data, bytes);
    }
    lower(Resource::Fsize, allowance.file)?;
    lower(Resource::Nofile, allowance.open_files)?;
    begin(allowance);
    Ok(())
}

/// Lowers both the soft and the hard limit of a resource to `most`.
fn lower(resource: Resource, most: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let lower = |end: Option<u64>| Some(end.map_or(most, |end| end.min(most)));
    let limit = Rlimit {
        current: lower(now.current),
        maximum: lower(now.maximum),
    };
    Ok(setrlimit(resource, limit)?)
}

/// Begins a call, which gets its own processor time.
pub(super) fn begin(allowance: &Allowance) {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec.unsigned_abs();
    let maximum = getrlimit(Resource::Cpu).maximum;
    let until = used.saturating_add(allowance.processor);
    let limit = Rlimit {
        current: Some(maximum.map_or(until, |maximum| maximum.min(until))),
        maximum,
    };
    let _ = setrlimit(Resource::Cpu, limit);
}

/// Called after a call has failed. Returns the limit that this process has reached, if the process itself can find out.
pub(super) fn used_up(allowance: &Allowance) -> Option<Used> {
    match fs::File::open("/dev/null") {
        Err(error) if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => return Some(Used::OpenFiles),
        _ => {}
    }
    is_nearly_all(most_memory(Whose::Own), allowance).then_some(Used::Memory)
}

/// True if a child that has ended had used nearly all memory that it was allowed to use.
pub(super) fn was_refused_memory(allowance: &Allowance) -> bool {
    is_nearly_all(most_memory(Whose::Children), allowance)
}

fn is_nearly_all(bytes: u64, allowance: &Allowance) -> bool {
    allowance
        .memory
        .is_some_and(|limit| bytes >= limit / NEARLY.1 * NEARLY.0)
}

enum Whose {
    Own,
    Children,
}

/// The most memory that this process, or a child that has ended, had in use at any time.
fn most_memory(whose: Whose) -> u64 {
    let whose = match whose {
        Whose::Own => libc::RUSAGE_SELF,
        Whose::Children => libc::RUSAGE_CHILDREN,
    };
    // SAFETY: the struct consists of numbers, for all of which 0 is valid.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: the struct lives until the call returns.
    if unsafe { libc::getrusage(whose, &raw mut usage) } != 0 {
        return 0;
    }
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    (usage.ru_maxrss as u64).saturating_mul(unit)
}
