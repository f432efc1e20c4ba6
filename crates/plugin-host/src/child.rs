//! What is needed to wait for a worker, which is a child process: a deadline, and a way to find out whether the worker
//! still runs.

#[cfg(not(unix))]
use crate::Allowance;
#[cfg(unix)]
use std::io;
#[cfg(not(unix))]
use std::process::Child;
use std::time::{Duration, Instant};

/// The deadline of an operation.
pub(crate) struct Clock {
    pub(crate) time: Duration,
    until: Instant,
}

impl Clock {
    pub(crate) fn new(time: Duration) -> Clock {
        Clock {
            time,
            until: Instant::now() + time,
        }
    }

    #[cfg(unix)]
    pub(crate) fn rest(&self) -> io::Result<Duration> {
        let rest = self.until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(rest)
    }
}

/// What is needed to wait for a worker: its process id and a deadline.
pub(crate) struct Waiting<'a> {
    pub(crate) clock: &'a Clock,
    /// Process id of the worker.
    pub(crate) worker: u32,
}

/// True if a worker has ended. Its process id is not reused until this process waits for it.
#[cfg(unix)]
pub(crate) fn is_gone(worker: u32) -> bool {
    unix::state(worker) != Some(unix::State::Runs)
}

/// Workers are not supported on this system yet.
#[cfg(not(unix))]
pub(crate) fn is_gone(_: u32) -> bool {
    true
}

#[cfg(unix)]
pub(crate) use unix::{NO_MEMORY, inherited, resume, used_up};

/// Workers are not supported on this system yet.
#[cfg(not(unix))]
pub(crate) fn inherited(allowance: Allowance) -> Allowance {
    allowance
}

/// Workers are not supported on this system yet.
#[cfg(not(unix))]
pub(crate) fn resume(_: &Child) {}

#[cfg(unix)]
mod unix {
    use crate::Allowance;
    use crate::allowance::Used;
    use rustix::process::{Pid, Resource, Signal, WaitId, WaitIdOptions, getrlimit, kill_process, waitid};
    use std::process::Child;

    /// A supervisor ends itself with this signal if the library's process ended because the system refused it memory.
    /// The signal tells the host the reason.
    pub(crate) const NO_MEMORY: Signal = Signal::USR2;

    /// The limits of a worker: those in `allowance`, or the limits of this process where they are lower.
    pub(crate) fn inherited(allowance: Allowance) -> Allowance {
        let least = |most: u64, resource| getrlimit(resource).current.map_or(most, |own| own.min(most));
        let memory = getrlimit(Resource::Data).current;
        Allowance {
            memory: allowance.memory.map(|most| least(most, Resource::Data)).or(memory),
            file: least(allowance.file, Resource::Fsize),
            open_files: least(allowance.open_files, Resource::Nofile),
            ..allowance
        }
    }

    /// If the library has stopped its supervisor, lets the supervisor continue. As long as nobody has waited for the
    /// supervisor, its process id still belongs to it.
    pub(crate) fn resume(supervisor: &Child) {
        if let Some(supervisor) = Pid::from_raw(supervisor.id() as i32).filter(|_| state(supervisor.id()).is_some()) {
            let _ = kill_process(supervisor, Signal::CONT);
        }
    }

    /// Finds the limit that a worker reached when `signal` ended it. Returns `None` if the signal does not mean that a
    /// limit was reached.
    pub(crate) fn used_up(signal: i32) -> Option<Used> {
        let signals = [
            (Signal::XCPU, Used::Processor),
            (Signal::XFSZ, Used::File),
            (NO_MEMORY, Used::Memory),
        ];
        let known = signals.into_iter().find(|(of, _)| of.as_raw() == signal);
        known.map(|(_, used)| used)
    }

    #[derive(PartialEq, Eq)]
    pub(super) enum State {
        Runs,
        Ended,
    }

    /// The state of a child process; `None` if its end has already been waited for.
    pub(super) fn state(child: u32) -> Option<State> {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(Pid::from_raw(child as i32)?), ended) {
            Ok(None) => Some(State::Runs),
            Ok(Some(_)) => Some(State::Ended),
            Err(_) => None,
        }
    }
}
