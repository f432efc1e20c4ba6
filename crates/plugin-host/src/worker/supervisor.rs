//! The supervisor: the parent of the process with the library. It runs only Strait's own code.
//!
//! The supervisor has its own session, so that none of its descendants can join the process group of the host or of the
//! user's shell. Signals from the terminal go to the host. A descendant whose parent has ended becomes a child of the
//! supervisor.
//!
//! When the library's process has ended or the host is gone, the supervisor ends its children until none are left. Then
//! it ends itself in the way in which the library's process has ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, setrlimit,
    setsid, wait,
};

use super::limits;
use super::noise::Noise;
use crate::Allowance;
use crate::child::{NO_MEMORY, is_gone};
use crate::process::{Part, Program};

/// How long the supervisor tries to end what the library has started.
const LAST: Duration = Duration::from_secs(8);

/// How often to check whether a process has ended, on systems that cannot notify a process of it.
const LOOK: Duration = Duration::from_millis(20);

/// Starts the process with the library, and waits until this process or the host has ended.
pub(super) fn supervise(allowance: Allowance) -> io::Result<ExitCode> {
    detach();
    let (noise, printed) = rustix::pipe::pipe()?;
    rustix::io::ioctl_fionbio(&noise, true)?;
    rustix::io::fcntl_setfd(&noise, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::fcntl_setfd(&printed, rustix::io::FdFlags::CLOEXEC)?;
    let mut command = Program::this()?.with(allowance).command(Part::Library)?;
    command.arg(getpid().as_raw_nonzero().to_string());
    // The child talks to the host directly. Requests and answers do not pass through the supervisor.
    command.stderr(Stdio::from(printed));
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command.spawn()?;
    // This closes the supervisor's copy of the writing end of the pipe for standard error. The child has its own copy.
    drop(command);
    let library = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::NotFound)?;
    let mut noise = Noise::new(noise);
    let watched = watch(library, &mut noise);
    // Even after an error, everything that was started is ended.
    let status = end_all(library);
    noise.finish();
    watched.map(|()| end_as(status, &allowance))
}

/// Leaves the host's session, and makes the settings that are inherited by all processes that are started from here.
fn detach() {
    // The call fails if the process already has a session of its own, which does no harm.
    let _ = setsid();
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
        // If the library has stopped the supervisor, this signal makes it continue, so that it notices the end of the
        // host.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT));
        // Programs that are started from here cannot get more rights than this process has.
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
    // The supervisor's copy of standard output is closed, so that the host sees the end of the pipe as soon as the
    // library's process ends.
    rustix::stdio::dup2_stdout(File::open("/dev/null")?)?;
    let (stdin, stderr) = (io::stdin(), io::stderr());
    let end = end_of(library);
    let look = Timespec::try_from(LOOK).map_err(io::Error::other)?;
    while !is_gone(library.as_raw_nonzero().get() as u32) {
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
        // The host has closed the pipe for requests.
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

/// A file descriptor that becomes readable when the process with the library has ended.
fn end_of(library: Pid) -> Option<OwnedFd> {
    #[cfg(target_os = "linux")]
    return rustix::process::pidfd_open(library, rustix::process::PidfdFlags::empty()).ok();
    #[cfg(not(target_os = "linux"))]
    {
        let _ = library;
        None
    }
}

/// Ends all children of this process. Their own children then become children of this process, and are ended, too,
/// until none are left. Returns how the library's process ended.
///
/// Signals are only sent to children that have not been reaped yet. Their process ids, and the ids of the groups that
/// they lead, cannot have been reused.
fn end_all(library: Pid) -> Option<WaitStatus> {
    let (until, mut status) = (Instant::now() + LAST, None);
    while Instant::now() < until {
        for child in children().unwrap_or_else(|_| vec![library]) {
            if child == library && status.is_some() {
                continue;
            }
            // A whole group is ended at once, so that none of its processes can start another one meanwhile.
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

/// The process ids of the children of this process, which has a single thread.
fn children() -> io::Result<Vec<Pid>> {
    let text = std::fs::read_to_string("/proc/thread-self/children")?;
    let numbers = text.split_whitespace().filter_map(|number| number.parse().ok());
    Ok(numbers.filter_map(Pid::from_raw).collect())
}

/// Ends this process in the same way as the library's process ended. If that process was refused memory, this process
/// ends with [`NO_MEMORY`], a signal for this purpose.
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
    // The signal is sent twice. The first one may only run a handler that this program has installed. The handler then
    // removes itself, so the second signal ends the process.
    for by in [by, by].into_iter().flatten() {
        let _ = kill_process(getpid(), by);
    }
    ExitCode::from(128u8.saturating_add(signal as u8))
}
