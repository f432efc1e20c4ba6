//! A worker, as the host sees it: a child with two pipes, and a clock.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, io};

use crate::wire::{self, Answer, Request, Sizes};

/// The program that is executed as a worker.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
}

impl Program {
    /// This program once more; its `main` knows [`ARGUMENT`](crate::ARGUMENT).
    ///
    /// # Errors
    /// A system that does not tell where the program is.
    pub fn this() -> io::Result<Program> {
        // Also where its file has been replaced or removed since it was started.
        if cfg!(target_os = "linux") {
            return Ok(Program::at("/proc/self/exe"));
        }
        Ok(Program::at(std::env::current_exe()?))
    }

    /// The program in this file, one whose `main` knows [`ARGUMENT`](crate::ARGUMENT).
    pub fn at(path: impl Into<PathBuf>) -> Program {
        Program {
            path: path.into(),
            arguments: vec![crate::ARGUMENT.into()],
        }
    }
}

/// The time that calls may take. None of them changes a bit of any result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until it is loaded.
    pub load: Duration,
    /// For one call, but that which writes files.
    pub call: Duration,
    /// For all files of a model.
    pub emit: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            load: Duration::from_secs(30),
            call: Duration::from_secs(30),
            emit: Duration::from_secs(600),
        }
    }
}

/// A worker that no longer answers, or does not make sense.
#[derive(Debug)]
pub(crate) enum Broken {
    Late(Duration),
    Ended(String),
    Garbage(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Late(time) => write!(f, "did not return within {} s", time.as_secs_f64()),
            Broken::Ended(how) => f.write_str(how),
            Broken::Garbage(what) => write!(f, "answered with {what}"),
        }
    }
}

/// A running worker. It ends with this value, and whatever it has started ends with it.
pub(crate) struct Worker {
    child: Child,
    pipes: pipes::Pipes,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may be in the middle of anything. Where it has ended already, there is nothing to do.
        end_all(&mut self.child);
        let _ = self.child.wait();
    }
}

impl Worker {
    /// Starts one. What it prints goes to standard error.
    ///
    /// It has a process group of its own, so that a signal from the terminal is this process's to answer. No variable of the
    /// environment names a library for the system's loader there.
    pub(crate) fn start(program: &Program) -> io::Result<Worker> {
        let mut command = Command::new(&program.path);
        command
            .args(&program.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if [b"LD_".as_slice(), b"DYLD_"]
                .iter()
                .any(|of| name.as_encoded_bytes().starts_with(of))
            {
                command.env_remove(name);
            }
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let pipes = pipes
            .ok_or_else(|| io::Error::other("it has no pipes"))
            .and_then(pipes::Pipes::new);
        match pipes {
            Ok(pipes) => Ok(Worker { child, pipes }),
            Err(error) => {
                end_all(&mut child);
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Sends a request with a body in several parts.
    pub(crate) fn send(&mut self, request: &Request, body: &[&[u8]], clock: &Clock) -> Result<(), Broken> {
        let sent = self.pipes.write(request, body, &self.waiting(clock));
        sent.map_err(|error| self.broken(&error, clock))
    }

    /// The next answer, and the sizes of its body, which is to be received next.
    pub(crate) fn receive(&mut self, clock: &Clock) -> Result<(Answer, Sizes), Broken> {
        let answer = self.read(clock);
        answer.map_err(|error| self.broken(&error, clock))
    }

    fn waiting<'a>(&self, clock: &'a Clock) -> Waiting<'a> {
        Waiting {
            clock,
            worker: self.child.id(),
        }
    }

    fn read(&mut self, clock: &Clock) -> io::Result<(Answer, Sizes)> {
        let waiting = self.waiting(clock);
        let mut sizes = [0; Sizes::BYTES];
        self.pipes.read(&mut sizes, &waiting)?;
        let sizes = Sizes::parse(sizes);
        let mut json = vec![0; sizes.header()?];
        self.pipes.read(&mut json, &waiting)?;
        Ok((wire::header(&json)?, sizes))
    }

    /// A body of at most so many bytes.
    pub(crate) fn body(&mut self, sizes: &Sizes, most: u64, clock: &Clock) -> Result<Vec<u8>, Broken> {
        let waiting = self.waiting(clock);
        let mut body = Vec::new();
        let received = sizes.body(most).and_then(|size| {
            body.resize(size, 0);
            self.pipes.read(&mut body, &waiting)
        });
        received.map_err(|error| self.broken(&error, clock))?;
        Ok(body)
    }

    /// A body of as many bytes.
    pub(crate) fn body_into(&mut self, sizes: &Sizes, body: &mut [u8], clock: &Clock) -> Result<(), Broken> {
        let waiting = self.waiting(clock);
        let received = sizes.body(body.len() as u64).and_then(|size| match size == body.len() {
            true => self.pipes.read(body, &waiting),
            false => Err(wire::garbage(format!("{size} bytes where {} are due", body.len()))),
        });
        received.map_err(|error| self.broken(&error, clock))
    }

    /// End of a worker whose pipe fails.
    fn broken(&mut self, error: &io::Error, clock: &Clock) -> Broken {
        match error.kind() {
            io::ErrorKind::TimedOut => Broken::Late(clock.time),
            io::ErrorKind::InvalidData => Broken::Garbage(error.to_string()),
            _ => Broken::Ended(self.end().unwrap_or_else(|| format!("closed its pipe: {error}"))),
        }
    }

    /// Its end, in words. A pipe closes a little before its process is gone.
    fn end(&mut self) -> Option<String> {
        for _ in 0..200 {
            if is_gone(self.child.id()) {
                end_all(&mut self.child);
                return self.child.wait().ok().map(ended);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

/// Kills a worker, and what it has started and has not left its group. Nothing happens if it has been waited for.
#[cfg(unix)]
fn end_all(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // As long as nobody has waited for the child, its number is that of its group and of nothing else.
    if let (Some(group), Some(_)) = (Pid::from_raw(child.id() as i32), unix::state(child.id())) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
}

#[cfg(not(unix))]
fn end_all(child: &mut Child) {
    let _ = child.kill();
}

/// End of a process, in words.
fn ended(status: std::process::ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            4 => " (illegal instruction)",
            6 => " (aborted)",
            8 => " (arithmetic)",
            9 => " (killed)",
            11 => " (invalid memory, or the stack was used up)",
            _ => "",
        };
        return format!("crashed: signal {signal}{name}");
    }
    match status.code() {
        Some(code) => format!("ended the process, with exit code {code}"),
        None => "ended the process".to_owned(),
    }
}

/// Until when something has to be done.
pub(crate) struct Clock {
    time: Duration,
    until: Instant,
}

/// Waiting for a worker.
struct Waiting<'a> {
    clock: &'a Clock,
    /// The number of its process.
    worker: u32,
}

/// True if a worker has ended. It stays to be waited for.
#[cfg(unix)]
fn is_gone(worker: u32) -> bool {
    unix::state(worker) != Some(unix::State::Runs)
}

/// There are no workers on this system yet.
#[cfg(not(unix))]
fn is_gone(_: u32) -> bool {
    true
}

#[cfg(unix)]
mod unix {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    #[derive(PartialEq, Eq)]
    pub(super) enum State {
        Runs,
        Ended,
    }

    /// State of a child; none of one that has been waited for.
    pub(super) fn state(child: u32) -> Option<State> {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(Pid::from_raw(child as i32)?), ended) {
            Ok(None) => Some(State::Runs),
            Ok(Some(_)) => Some(State::Ended),
            Err(_) => None,
        }
    }
}

impl Clock {
    pub(crate) fn new(time: Duration) -> Clock {
        Clock {
            time,
            until: Instant::now() + time,
        }
    }

    #[cfg(unix)]
    fn rest(&self) -> io::Result<Duration> {
        let rest = self.until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(rest)
    }
}

#[cfg(unix)]
mod pipes {
    //! Pipes that wait until a time and no longer.

    use super::{Waiting, is_gone};
    use crate::wire::{self, Request};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::io::{self, Read};
    use std::os::fd::AsFd;
    use std::process::{ChildStdin, ChildStdout};
    use std::time::Duration;

    /// A process that the plugin has started may hold the pipe of a worker that is gone: so often is looked.
    const LOOK: Duration = Duration::from_millis(100);

    pub(super) struct Pipes {
        to: ChildStdin,
        from: ChildStdout,
    }

    impl Pipes {
        pub(super) fn new((to, from): (ChildStdin, ChildStdout)) -> io::Result<Pipes> {
            rustix::io::ioctl_fionbio(&to, true)?;
            rustix::io::ioctl_fionbio(&from, true)?;
            // A whole tile at a time where the system allows it; the default is a quarter of one.
            #[cfg(target_os = "linux")]
            {
                let _ = rustix::pipe::fcntl_setpipe_size(&to, PIPE_BYTES);
                let _ = rustix::pipe::fcntl_setpipe_size(&from, PIPE_BYTES);
            }
            Ok(Pipes { to, from })
        }

        pub(super) fn write(&mut self, request: &Request, body: &[&[u8]], waiting: &Waiting<'_>) -> io::Result<()> {
            wire::write_parts(&mut &self.to, request, body, |error| {
                wait(error, &self.to, PollFlags::OUT, waiting)
            })
        }

        pub(super) fn read(&mut self, mut bytes: &mut [u8], waiting: &Waiting<'_>) -> io::Result<()> {
            // A worker that never stops writing never lets the host wait.
            waiting.clock.rest()?;
            while !bytes.is_empty() {
                match self.from.read(bytes) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(count) => bytes = &mut bytes[count..],
                    Err(error) => wait(error, &self.from, PollFlags::IN, waiting)?,
                }
            }
            Ok(())
        }
    }

    #[cfg(target_os = "linux")]
    const PIPE_BYTES: usize = 512 << 10;

    /// Waits for a pipe that is not ready; passes on any other error.
    fn wait(error: io::Error, pipe: &impl AsFd, flags: PollFlags, waiting: &Waiting<'_>) -> io::Result<()> {
        match error.kind() {
            io::ErrorKind::Interrupted => return Ok(()),
            io::ErrorKind::WouldBlock => {}
            _ => return Err(error),
        }
        let rest = waiting.clock.rest()?.min(LOOK);
        let timeout = Timespec::try_from(rest).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(pipe, flags)], Some(&timeout)) {
            Ok(0) if is_gone(waiting.worker) => Err(io::ErrorKind::BrokenPipe.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
mod pipes {
    use super::Waiting;
    use crate::wire::Request;
    use std::io;
    use std::process::{ChildStdin, ChildStdout};

    pub(super) enum Pipes {}

    impl Pipes {
        pub(super) fn new(_: (ChildStdin, ChildStdout)) -> io::Result<Pipes> {
            Err(io::Error::other("plugins in libraries need Linux or macOS"))
        }

        pub(super) fn write(&mut self, _: &Request, _: &[&[u8]], _: &Waiting<'_>) -> io::Result<()> {
            match *self {}
        }

        pub(super) fn read(&mut self, _: &mut [u8], _: &Waiting<'_>) -> io::Result<()> {
            match *self {}
        }
    }
}
