//! The host's side of a worker: a child process with two pipes, and time limits.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use std::time::Instant;
use std::{fmt, io};

use crate::Allowance;
#[cfg(unix)]
use crate::child::used_up;
use crate::child::{Clock, Waiting, inherited, is_gone, resume};
use crate::pipes::Pipes;
use crate::wire::{self, Answer, Request, Sizes};

/// The program that is started as a worker, and the worker's limits.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    allowance: Allowance,
}

/// The program that is started instead of this one.
static INSTEAD: OnceLock<PathBuf> = OnceLock::new();

impl Program {
    /// This program itself, whose `main` must recognize [`ARGUMENT`](crate::ARGUMENT), or the program that stands for it
    /// ([`Program::stands_for_this`]).
    ///
    /// # Errors
    /// If the system does not tell where the program is.
    pub fn this() -> io::Result<Program> {
        if let Some(path) = INSTEAD.get() {
            return Ok(Program::at(path));
        }
        // This path leads to the running program, even if its file has been replaced or removed since it was started.
        if cfg!(target_os = "linux") {
            return Ok(Program::at("/proc/self/exe"));
        }
        Ok(Program::at(std::env::current_exe()?))
    }

    /// From now on, [`Program::this`] is the program in this file: for a library in a program that cannot be a worker, such as an
    /// interpreter. Only the first call has an effect.
    pub fn stands_for_this(path: impl Into<PathBuf>) {
        INSTEAD.get_or_init(|| path.into());
    }

    /// The program in this file. Its `main` must recognize [`ARGUMENT`](crate::ARGUMENT).
    pub fn at(path: impl Into<PathBuf>) -> Program {
        Program {
            path: path.into(),
            allowance: Allowance::default(),
        }
    }

    /// Sets the limits of the workers.
    #[must_use]
    pub fn with(self, allowance: Allowance) -> Program {
        Program { allowance, ..self }
    }

    /// The command that starts the program as the process `part` of a worker.
    pub(crate) fn command(&self, part: Part) -> io::Result<Command> {
        let mut command = Command::new(&self.path);
        let allowance = serde_json::to_string(&self.allowance).map_err(io::Error::other)?;
        command.args([crate::ARGUMENT, part.word(), &allowance]);
        Ok(command)
    }
}

/// The two processes of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The process that starts the process with the library. When the library's process ends, the supervisor ends
    /// everything that the library's process has started, and then itself.
    Supervisor,
    /// The process that loads the library.
    Library,
}

impl Part {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Part::Supervisor => "supervisor",
            Part::Library => "library",
        }
    }
}

/// Time limits for a plugin. They change no bit of any result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Time limit for loading a library.
    pub load: Duration,
    /// Time limit for one call, except a call of `emit`.
    pub call: Duration,
    /// Time limit for writing all files of a model with `emit`.
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

/// Why a worker cannot be used any more: it does not answer, or its answers make no sense.
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

/// A running worker. It consists of the supervisor, which is a child of this process, and of the process with the
/// library, which is a child of the supervisor. When this value is dropped, both processes end, and so does everything
/// that they have started.
pub(crate) struct Worker {
    child: Child,
    /// The pipes to the worker; `None` once the worker has been told to end.
    pipes: Option<Pipes>,
    allowance: Allowance,
}

/// How long the host waits for a supervisor to end everything that a library has started.
const LAST: Duration = Duration::from_secs(10);

impl Drop for Worker {
    fn drop(&mut self) {
        // The worker may be in the middle of a call. Closing the pipe tells the supervisor that the worker is no longer
        // needed.
        self.pipes = None;
        resume(&self.child);
        let until = Instant::now() + LAST;
        let mut pause = Duration::from_micros(100);
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(pause),
                Ok(Some(_)) | Err(_) => return,
            }
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        // Something keeps the supervisor from ending, so it is killed. The library's process ends when the supervisor
        // does.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    /// Starts a worker. What the worker prints goes to standard error.
    ///
    /// Environment variables that name libraries for the system's loader are removed. All others are passed on, since a
    /// vendor's library may need them to find its licence and its files.
    pub(crate) fn start(program: &Program) -> io::Result<Worker> {
        let program = &program.clone().with(inherited(program.allowance));
        let mut command = program.command(Part::Supervisor)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if [b"LD_".as_slice(), b"DYLD_"]
                .iter()
                .any(|of| name.as_encoded_bytes().starts_with(of))
            {
                command.env_remove(name);
            }
        }
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let pipes = pipes
            .ok_or_else(|| io::Error::other("it has no pipes"))
            .and_then(Pipes::new);
        let mut worker = Worker {
            child,
            pipes: None,
            allowance: program.allowance,
        };
        worker.pipes = Some(pipes?);
        Ok(worker)
    }

    fn pipes(&mut self) -> io::Result<&mut Pipes> {
        self.pipes.as_mut().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Sends a request whose body consists of several parts.
    pub(crate) fn send(&mut self, request: &Request, body: &[&[u8]], clock: &Clock) -> Result<(), Broken> {
        let waiting = self.waiting(clock);
        let sent = self.pipes().and_then(|pipes| pipes.write(request, body, &waiting));
        sent.map_err(|error| self.broken(&error, clock))
    }

    /// Receives an answer and the size of its body. The caller has to receive the body next.
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
        let pipes = self.pipes()?;
        pipes.read(&mut sizes, &waiting)?;
        let sizes = Sizes::parse(sizes);
        let mut json = vec![0; sizes.header()?];
        pipes.read(&mut json, &waiting)?;
        Ok((wire::header(&json)?, sizes))
    }

    /// Receives a body of at most `most` bytes.
    pub(crate) fn body(&mut self, sizes: &Sizes, most: u64, clock: &Clock) -> Result<Vec<u8>, Broken> {
        let waiting = self.waiting(clock);
        let mut body = Vec::new();
        let received = sizes.body(most).and_then(|size| {
            body.resize(size, 0);
            self.pipes()?.read(&mut body, &waiting)
        });
        received.map_err(|error| self.broken(&error, clock))?;
        Ok(body)
    }

    /// Receives a body of exactly as many bytes as `body` has.
    pub(crate) fn body_into(&mut self, sizes: &Sizes, body: &mut [u8], clock: &Clock) -> Result<(), Broken> {
        let waiting = self.waiting(clock);
        let received = sizes.body(body.len() as u64).and_then(|size| match size == body.len() {
            true => self.pipes()?.read(body, &waiting),
            false => Err(wire::garbage(format!("{size} bytes where {} are due", body.len()))),
        });
        received.map_err(|error| self.broken(&error, clock))
    }

    /// Finds out what happened to the worker after an error of its pipe.
    fn broken(&mut self, error: &io::Error, clock: &Clock) -> Broken {
        match error.kind() {
            io::ErrorKind::TimedOut => Broken::Late(clock.time),
            io::ErrorKind::InvalidData => Broken::Garbage(error.to_string()),
            _ => Broken::Ended(self.end().unwrap_or_else(|| format!("closed its pipe: {error}"))),
        }
    }

    /// Describes how the worker ended; `None` if it has not ended. The pipe closes a little before the process ends, so
    /// this function waits for a moment.
    fn end(&mut self) -> Option<String> {
        resume(&self.child);
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            if is_gone(self.child.id()) {
                return self.child.wait().ok().map(|status| ended(status, &self.allowance));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    }
}

/// Describes how a process ended. The supervisor ends in the same way as the library's process.
fn ended(status: std::process::ExitStatus, allowance: &Allowance) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        if let Some(used) = used_up(signal) {
            return format!("used up {}", used.said(allowance));
        }
        let name = match signal {
            4 => " (illegal instruction)",
            6 => " (aborted)",
            8 => " (arithmetic)",
            9 => " (killed)",
            11 => " (invalid memory, the stack was used up, or memory beyond the limit was refused)",
            _ => "",
        };
        return format!("crashed: signal {signal}{name}");
    }
    #[cfg(not(unix))]
    let _ = allowance;
    match status.code() {
        Some(code) => format!("ended the process, with exit code {code}"),
        None => "ended the process".to_owned(),
    }
}
