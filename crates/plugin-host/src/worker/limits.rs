//! The limits of the process with the library, and what it has used up of them.

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

/// Parts of a limit on memory, of which so many in use say that it was the limit that refused more.
const NEARLY: (u64, u64) = (3, 4);

/// Takes on the limits, for good.
pub(super) fn take_on(allowance: &Allowance) -> io::Result<()> {
    if let Some(bytes) = allowance.memory {
        // Memory that may be written to, and not what is only reserved. Not every system counts it.
        let _ = lower(Resource::Data, bytes);
    }
    lower(Resource::Fsize, allowance.file)?;
    lower(Resource::Nofile, allowance.open_files)?;
    begin(allowance);
    Ok(())
}

/// Both ends of a limit become at most this.
fn lower(resource: Resource, most: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let lower = |end: Option<u64>| Some(end.map_or(most, |end| end.min(most)));
    let limit = Rlimit {
        current: lower(now.current),
        maximum: lower(now.maximum),
    };
    Ok(setrlimit(resource, limit)?)
}

/// A call begins, with processor time of its own.
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

/// The limit that this process has used up, as far as it can see that of itself: after a call that failed.
pub(super) fn used_up(allowance: &Allowance) -> Option<Used> {
    match fs::File::open("/dev/null") {
        Err(error) if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => return Some(Used::OpenFiles),
        _ => {}
    }
    is_nearly_all(most_memory(Whose::Own), allowance).then_some(Used::Memory)
}

/// True if a child that has been waited for had nearly all memory that it may have.
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

/// The most memory that was in use at a time.
fn most_memory(whose: Whose) -> u64 {
    let whose = match whose {
        Whose::Own => libc::RUSAGE_SELF,
        Whose::Children => libc::RUSAGE_CHILDREN,
    };
    // SAFETY: a struct of numbers, of which none need be anything else than 0.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: the struct is there until the call returns.
    if unsafe { libc::getrusage(whose, &raw mut usage) } != 0 {
        return 0;
    }
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    (usage.ru_maxrss as u64).saturating_mul(unit)
}
