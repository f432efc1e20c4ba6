//! The worker: two more processes of this program. The supervisor starts the other process, which loads the library.
//! The process with the library reads requests from standard input and answers on standard output, until standard input
//! is closed. What the library prints goes to the supervisor, which shows it on standard error.

mod admits;
mod calls;
mod forms;
mod limits;
mod load;
mod memory;
mod noise;
mod probes;
mod supervisor;
mod tiles;
mod traces;
mod trials;

use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::process::ExitCode;

use self::calls::{Fault, Plugin};
use self::memory::Aligned;
use crate::Allowance;
use crate::conduct::Traces;
use crate::node::NodeHeader;
use crate::process::Part;
use crate::wire::{self, Answer, Request, Sizes};

/// Runs one of the two processes of a worker; the arguments after [`ARGUMENT`](crate::ARGUMENT) say which one. This
/// function returns when the host closes the pipe.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let known = |part: Part, word: &str| word == part.word();
    let done = match &arguments[..] {
        [part, limits] if known(Part::Supervisor, part) => {
            wire::header(limits.as_bytes()).and_then(supervisor::supervise)
        }
        [part, limits, parent] if known(Part::Library, part) => {
            let served = wire::header(limits.as_bytes()).and_then(|limits| serve(&limits, parent));
            served.map(|()| ExitCode::SUCCESS)
        }
        _ => Err(wire::garbage("nobody but this program starts a worker".into())),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            // If the host is still running, it reports the same error with the plugin's name.
            eprintln!("the worker of a plugin ends: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Largest body of a request: a model and its weights. Since the host can be trusted, a larger size can only mean that
/// the frame is damaged.
const MOST_BODY: u64 = 1 << 40;

/// Reads the body of a request.
fn receive(from: &mut File, sizes: &Sizes, body: &mut Aligned) -> io::Result<()> {
    body.resize(sizes.body(MOST_BODY)?);
    from.read_exact(body.bytes_mut())
}

/// Takes the two pipes to the host from standard input and output. Standard input and output are then replaced, so that
/// the library can neither print into the pipes nor read from them.
fn pipes() -> io::Result<(File, File)> {
    // The new descriptors have higher numbers than the standard streams, and programs that the library starts do
    // not inherit them.
    let from = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let to = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok((from.into(), to.into()))
}

/// Makes sure that this process ends when its supervisor ends, whatever the library is doing. If the supervisor has
/// already ended, this process ends at once.
fn end_with(supervisor: &str) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let parent = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().to_string());
    match parent.as_deref() == Some(supervisor) {
        true => Ok(()),
        false => Err(io::Error::other("its supervisor is gone")),
    }
}

fn serve(allowance: &Allowance, supervisor: &str) -> io::Result<()> {
    end_with(supervisor)?;
    let (mut from, mut to) = pipes()?;
    limits::take_on(allowance)?;
    let Some((Request::Load { path, sha256 }, _)) = wire::read(&mut from)? else {
        return Err(wire::garbage("the first request is for a library".into()));
    };
    let before = Traces::now();
    let mut plugin = match Plugin::load(&path, &sha256) {
        Ok((plugin, description)) => {
            wire::write(&mut to, &Answer::Loaded(description), plugin.table().as_bytes())?;
            plugin
        }
        Err(error) => return wire::write(&mut to, &Answer::Refused(error), &[]),
    };
    // The buffers are reused for each tile, since the system would first have to fill new memory with zeros.
    let (mut body, mut codes) = (Aligned::default(), Aligned::default());
    while let Some((request, sizes)) = wire::read(&mut from)? {
        receive(&mut from, &sizes, &mut body)?;
        codes.resize(0);
        limits::begin(allowance);
        let answer = match request {
            Request::Load { .. } => return Err(wire::garbage("a second library".into())),
            Request::Open { options } => plugin.open(options).map(Answer::Opened),
            Request::Prepare { form, row } => plugin.prepare(form, row, body.bytes()).map(|()| Answer::Prepared),
            Request::Requantize(tile) => plugin.requantize(tile, &body, &mut codes).map(|()| Answer::Codes),
            Request::Try { tiles, trial } => {
                let tried = plugin.attempt(&tiles, trial, &body, &mut codes);
                tried.map(Answer::Tried)
            }
            Request::Traces => Ok(Answer::Traced(Box::new([before.clone(), Traces::now()]))),
            Request::Probe { target, form, probe } => plugin.probe(target, form, probe).map(Answer::Probed),
            Request::Admit { target } => {
                let mut asked = Ok(Answer::Done);
                for node in wire::header::<Vec<NodeHeader>>(body.bytes())? {
                    match plugin.admits(target, node) {
                        Ok(refused) => wire::write(&mut to, &Answer::Admitted(refused), &[])?,
                        Err(fault) => {
                            asked = Err(fault);
                            break;
                        }
                    }
                }
                asked
            }
            Request::Emit {
                target,
                ir,
                tensors,
                fenced,
            } => {
                // A model may be large, so the buffer is not reused, and its memory is released after the call.
                let body = mem::take(&mut body);
                let done = plugin.emit(target, ir, &tensors, (&body, fenced), &mut to)?;
                done.map(|()| Answer::Done)
            }
        };
        match answer {
            Ok(answer) => wire::write(&mut to, &answer, codes.bytes())?,
            Err(Fault {
                status,
                node,
                mut message,
            }) => {
                if let Some(used) = limits::used_up(allowance) {
                    message = format!("{message} (it has used up {})", used.said(allowance));
                }
                wire::write(&mut to, &Answer::Failed { status, node, message }, &[])?;
            }
        }
    }
    Ok(())
}
