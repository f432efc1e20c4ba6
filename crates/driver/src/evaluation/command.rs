//! Runs the commands of a configuration: starts, watches and ends them.
//!
//! A command consists of the words in the configuration and a path, which is added as the last argument. No shell
//! interprets it. A command runs in the folder of the configuration, as the leader of a process group, and all
//! processes of the group are ended when the command ends. The standard input of a command is empty. The standard
//! output is read to its end, up to a limit. The standard error is read, too, and its last part is kept.

use std::{
    io::{self, Read},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Child, Command as Process, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value as Json;
use strait_document::KeyPath;
use strait_evaluate::EvaluateError;

use crate::{diagnostic::Diagnostic, failure::codes, session::Session, stop::Stop};

/// A command may print at most this many bytes to its standard output. This is enough for the boxes of ten thousand
/// images.
const MOST_PRINTED: usize = 64 << 20;

/// Maximum number of bytes of a command's standard error that are shown. Of a longer text, the end is shown.
const MOST_COMPLAINTS: usize = 4 << 10;

/// While a command runs, its state is checked at this interval.
const LOOK: Duration = Duration::from_millis(20);

/// A command that computes a metric.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// Name of the metric.
    pub(crate) metric: String,
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    /// Folder in which the command runs.
    pub(crate) folder: PathBuf,
    /// The longest time that a run may take.
    pub(crate) limit: Duration,
    /// Key of the command in the configuration.
    pub(crate) key: KeyPath,
}

/// How the wait for the end of a command ended.
enum End {
    Done(Vec<u8>),
    Late,
    TooMuch,
    Interrupted,
}

impl Command {
    /// Returns an error if the session does not allow commands.
    pub(crate) fn allowed(&self, session: &Session<'_>) -> Result<(), Stop> {
        if session.commands {
            return Ok(());
        }
        let message = format!(
            "the metric {:?} starts the command `{}`, and commands are not allowed",
            self.metric,
            self.words.join(" ")
        );
        let finding = Diagnostic::error(codes::COMMANDS, message).about(self.key.clone());
        Err(finding
            .help("`--allow-commands` allows those of this configuration; read them before you say so")
            .into())
    }

    /// Runs the command with one more argument, as a phase of the session, and reads the JSON document that it prints.
    ///
    /// # Errors
    /// If the command cannot be started, fails, takes too long, prints too much or no JSON, or if the user interrupts.
    pub(crate) fn run(&self, file: &Path, session: &Session<'_>, of: &str) -> Result<Json, Stop> {
        self.allowed(session)?;
        let phase = format!("command {} ({of})", self.metric);
        session.phase(&phase, None, |look| {
            let mut child = self.start(file).map_err(|error| {
                let message = format!("the command of {:?} cannot be started: {error}", self.metric);
                self.found(message, &[])
            })?;
            let printed = child.stdout.take().map(|pipe| reader(pipe, MOST_PRINTED, false));
            let complaints = child.stderr.take().map(|pipe| reader(pipe, MOST_COMPLAINTS, true));
            let Some((printed, complaints)) = printed.zip(complaints) else {
                let _ = end_all(&mut child);
                return Err(Stop::Defect("a command has no pipes".into()));
            };
            let end = self.watched(&mut child, &printed, look);
            let status = end_all(&mut child);
            let complaints = complaints.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
            let failed = |what: String| -> Stop {
                self.found(format!("the command of {:?} {what}", self.metric), &complaints)
                    .into()
            };
            let printed = match end {
                End::Interrupted => return Err(Stop::Interrupted),
                End::Late => {
                    let limit = self.limit.as_secs_f64();
                    return Err(failed(format!("was ended after {limit} s, which `seconds` allows")));
                }
                End::TooMuch => return Err(failed(format!("printed more than {} MiB", MOST_PRINTED >> 20))),
                End::Done(printed) => printed,
            };
            match status {
                Ok(status) if status.success() => {}
                Ok(status) => return Err(failed(format!("failed: {status}"))),
                Err(error) => return Err(failed(format!("is lost: {error}"))),
            }
            if printed.trim_ascii().is_empty() {
                return Err(failed("printed nothing".to_owned()));
            }
            serde_json::from_slice(&printed).map_err(|error| {
                let begin: String = String::from_utf8_lossy(&printed).chars().take(200).collect();
                failed(format!("printed what is no JSON: {error}; it begins {begin:?}"))
            })
        })
    }

    fn found(&self, message: String, complaints: &[u8]) -> Diagnostic {
        let finding = Diagnostic::error(codes::COMMAND, message).about(self.key.clone());
        let folder = self.folder().display();
        let finding = finding.note(format!("it is `{}` in {folder}", self.words.join(" ")));
        let complaints = String::from_utf8_lossy(complaints);
        match complaints.trim() {
            "" => finding,
            text => finding.note(format!("it complains:\n{text}")),
        }
    }

    /// Converts the error of a metric that cannot use what the command printed.
    pub(crate) fn refused(&self, error: EvaluateError) -> Stop {
        match error {
            EvaluateError::Printed(what) => {
                (self.found(format!("the command of {:?} {what}", self.metric), &[])).into()
            }
            other => other.into(),
        }
    }

    /// The folder in which the command runs. An empty path stands for the current folder.
    fn folder(&self) -> &Path {
        match self.folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => &self.folder,
        }
    }

    fn start(&self, file: &Path) -> io::Result<Child> {
        let folder = self.folder();
        let program = self.words.first().map_or("", String::as_str);
        // A relative path to the program starts from the folder in which the command runs. The path is made absolute
        // here, because systems differ in the folder from which they would look for it.
        let program = match program.contains('/') {
            true => std::path::absolute(folder.join(program))?,
            false => program.into(),
        };
        let mut process = Process::new(program);
        process
            .args(self.words.get(1..).unwrap_or_default())
            .arg(file)
            .current_dir(folder);
        process
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        process.spawn()
    }

    /// Waits until the command has ended and closed its output, or must be stopped.
    fn watched(
        &self,
        child: &mut Child,
        printed: &Receiver<Vec<u8>>,
        look: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> End {
        let begun = Instant::now();
        let mut text: Option<Vec<u8>> = None;
        loop {
            if text.is_none() {
                match printed.recv_timeout(LOOK) {
                    Ok(bytes) => text = Some(bytes),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => text = Some(Vec::new()),
                }
            } else {
                thread::sleep(LOOK / 20);
            }
            if text.as_ref().is_some_and(|text| text.len() > MOST_PRINTED) {
                return End::TooMuch;
            }
            if let Some(text) = text.take_if(|_| is_over(child)) {
                return End::Done(text);
            }
            if begun.elapsed() > self.limit {
                return End::Late;
            }
            if look(0).is_break() {
                return End::Interrupted;
            }
        }
    }
}

/// True if a process has ended. The process is not reaped here. So the system does not reuse its process id, which is
/// also the id of its process group.
#[cfg(unix)]
fn is_over(child: &mut Child) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let pid = Pid::from_raw(child.id() as i32);
    pid.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
}

#[cfg(not(unix))]
fn is_over(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Reads a pipe to its end on a separate thread. If `last` is true, returns the last `most` bytes. If it is false,
/// reading stops as soon as there are more than `most` bytes, and all bytes that were read are returned.
fn reader(mut pipe: impl Read + Send + 'static, most: usize, last: bool) -> Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    let read = move || {
        let mut kept = Vec::new();
        let mut part = [0; 1 << 14];
        loop {
            match pipe.read(&mut part) {
                Ok(0) => break,
                Ok(count) => kept.extend_from_slice(part.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
            if kept.len() > most {
                if !last {
                    break;
                }
                kept.drain(..kept.len() - most);
            }
        }
        // Sending fails if the command was stopped, since nobody waits for the output then.
        let _ = send.send(kept);
    };
    // If the thread cannot be started, the channel is closed, and the output counts as empty.
    let _ = thread::Builder::new()
        .name("command".into())
        .stack_size(1 << 20)
        .spawn(read);
    receive
}

/// Ends a command and all processes that are still in its process group.
fn end_all(child: &mut Child) -> io::Result<ExitStatus> {
    #[cfg(unix)]
    if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    child.wait()
}
