//! The supervisor: the parent of the process with the library, which runs nobody else's code.
//!
//! It has a session of its own, so that nothing in it can move into the group of the host or of the user's shell; a signal
//! from the terminal is the host's to answer. What loses its parent becomes a child of the supervisor, however often it has
//! forked. When the library's process ends, or the host is gone, the supervisor ends its children until it has none, and then
//! itself, in the way in which the library's process has ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, kill_process,
    kill_process_group, setrlimit, setsid, wait, waitid,
};

use super::limits;
use super::noise::Noise;
use crate::Allowance;
use crate::process::{NO_MEMORY, Part, Program};

/// The time for ending what the library has started.
const LAST: Duration = Duration::from_secs(8);

/// So often is looked where the system does not tell the end of a process otherwise.
const LOOK: Duration = Duration::from_millis(20);

/// Starts the process with the library, and waits for its end or the host's.
pub(super) fn supervise(allowance: Allowance) -> io::Result<ExitCode> {
    detach();
    let (noise, printed) = rustix::pipe::pipe()?;
    rustix::io::ioctl_fionbio(&noise, true)?;
    rustix::io::fcntl_setfd(&noise, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::fcntl_setfd(&printed, rustix::io::FdFlags::CLOEXEC)?;
    let mut command = Program::this()?.with(allowance).command(Part::Library)?;
    command.arg(getpid().as_raw_nonzero().to_string());
    // It speaks to the host itself: requests and answers do not pass here.
    command.stderr(Stdio::from(printed));
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command.spawn()?;
    // The other end of the noise, which its children have.
    drop(command);
    let library = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::NotFound)?;
    let mut noise = Noise::new(noise);
    let watched = watch(library, &mut noise);
    // Whatever goes wrong here, nothing stays.
    let status = end_all(library);
    noise.finish();
    watched.map(|()| end_as(status, &allowance))
}

/// Leaves the host's session, and takes on what is to hold for all that is started here.
fn detach() {
    // Fails where it has a session of its own already.
    let _ = setsid();
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
        // The end of the host is to be seen even by a supervisor that the library has stopped.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT));
        // No program that it executes has more rights than it has.
        let _ = rustix::thread::set_no_new_privs(true);
    }
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, none);
}

/// Returns when the process with the library has ended, or the host is gone.
fn watch(library: Pid, noise: &mut Noise) -> io::Result<()> {
    // The answers end with those who can give them.
    rustix::stdio::dup2_stdout(File::open("/dev/null")?)?;
    let (stdin, stderr) = (io::stdin(), io::stderr());
    let end = end_of(library);
    let look = Timespec::try_from(LOOK).map_err(io::Error::other)?;
    while !has_ended(library) {
        let mut files: Vec<PollFd<'_>> = vec![PollFd::new(&stdin, PollFlags::empty())];
        let ready = end.iter().map(AsFd::as_fd).chain(noise.pipe());
        files.extend(ready.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)));
        if noise.waits() {
            files.push(PollFd::new(&stderr, PollFlags::OUT));
        }
        match poll(&mut files, end.is_none().then_some(&look)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // Nobody writes requests any more.
        if files[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
        {
            return Ok(());
        }
        noise.read();
        noise.show(Duration::ZERO);
    }
    Ok(())
}

/// A file that can be read when the process has ended.
fn end_of(library: Pid) -> Option<OwnedFd> {
    #[cfg(target_os = "linux")]
    return rustix::process::pidfd_open(library, rustix::process::PidfdFlags::empty()).ok();
    #[cfg(not(target_os = "linux"))]
    {
        let _ = library;
        None
    }
}

/// True if a child has ended. It stays to be waited for, so that its number is nobody else's.
fn has_ended(child: Pid) -> bool {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(child), ended), Ok(None))
}

/// Ends all children, and those that become children by that, until there are none. Answers with the end of the library's
/// process.
///
/// Nobody is named but children that have not been waited for: their numbers, and those of the groups that they lead, are of
/// nothing else.
fn end_all(library: Pid) -> Option<WaitStatus> {
    let (until, mut status) = (Instant::now() + LAST, None);
    while Instant::now() < until {
        for child in children().unwrap_or_else(|_| vec![library]) {
            if child == library && status.is_some() {
                continue;
            }
            // A group at once, so that none of it can start another process meanwhile.
            let _ = kill_process_group(child, Signal::KILL);
            let _ = kill_process(child, Signal::KILL);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((child, how))) if child == library => status = Some(how),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return status,
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    status
}

/// The children of this process, which has one thread.
fn children() -> io::Result<Vec<Pid>> {
    let text = std::fs::read_to_string("/proc/thread-self/children")?;
    let numbers = text.split_whitespace().filter_map(|number| number.parse().ok());
    Ok(numbers.filter_map(Pid::from_raw).collect())
}

/// Ends this process as the one with the library has ended; by a signal of its own where that was refused memory.
fn end_as(status: Option<WaitStatus>, allowance: &Allowance) -> ExitCode {
    let Some(status) = status else {
        return ExitCode::FAILURE;
    };
    let Some(signal) = status.terminating_signal() else {
        return ExitCode::from(status.exit_status().map_or(1, |code| code as u8));
    };
    let crash = [Signal::SEGV, Signal::BUS, Signal::ABORT].map(Signal::as_raw);
    let by = if crash.contains(&signal) && limits::was_refused_memory(allowance) {
        Some(NO_MEMORY)
    } else {
        Signal::from_named_raw(signal).filter(|&named| named != NO_MEMORY)
    };
    // Twice: the first one may find a handler that this program has for itself, and which takes itself away.
    for by in [by, by].into_iter().flatten() {
        let _ = kill_process(getpid(), by);
    }
    ExitCode::from(128u8.saturating_add(signal as u8))
}
