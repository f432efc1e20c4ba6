//! The worker: this program, executed again, with a library in it. It answers requests from standard input on standard
//! output until that is closed. What the library prints goes to standard error.

#[cfg(unix)]
mod admits;
#[cfg(unix)]
mod calls;
#[cfg(unix)]
mod forms;
#[cfg(unix)]
mod load;
#[cfg(unix)]
mod memory;
#[cfg(unix)]
mod probes;

use std::process::ExitCode;

/// Serves a host until it closes the pipe.
#[cfg(unix)]
pub fn main() -> ExitCode {
    match serve::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The host says the same with the plugin's name, if it is there at all.
            eprintln!("the worker of a plugin ends: {error}");
            ExitCode::FAILURE
        }
    }
}

/// There are no workers on this system yet.
#[cfg(not(unix))]
pub fn main() -> ExitCode {
    ExitCode::FAILURE
}

#[cfg(unix)]
mod serve {
    use super::calls::{Fault, Plugin};
    use super::memory::Aligned;
    use crate::node::NodeHeader;
    use crate::wire::{self, Answer, Request, Sizes};
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Signal, kill_current_process_group};
    use std::fs::File;
    use std::io::{self, Read};
    use std::mem;

    /// The largest bodies are a model and its weights. The host is believed; a size beyond this is no frame.
    const MOST_BODY: u64 = 1 << 40;

    /// Reads the body of a request.
    fn receive(from: &mut File, sizes: &Sizes, body: &mut Aligned) -> io::Result<()> {
        body.resize(sizes.body(MOST_BODY)?);
        from.read_exact(body.bytes_mut())
    }

    /// The two pipes, and nothing that a library could print into or read from.
    fn pipes() -> io::Result<(File, File)> {
        // Numbers above those of the standard streams, which do not reach what the library executes.
        let from = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
        let to = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Ok((from.into(), to.into()))
    }

    /// Ends this process and all that the library has started when the host is gone, whatever the library is doing: nobody
    /// would wait for it any more.
    fn end_with_the_host(from: &File) -> io::Result<()> {
        let from = from.try_clone()?;
        std::thread::Builder::new().name("host".into()).spawn(move || {
            loop {
                let mut pipe = [PollFd::new(&from, PollFlags::empty())];
                if poll(&mut pipe, None).is_ok() && pipe[0].revents().contains(PollFlags::HUP) {
                    let _ = kill_current_process_group(Signal::KILL);
                }
            }
        })?;
        Ok(())
    }

    pub(super) fn serve() -> io::Result<()> {
        let (mut from, mut to) = pipes()?;
        end_with_the_host(&from)?;
        let Some((Request::Load { path, sha256 }, _)) = wire::read(&mut from)? else {
            return Err(wire::garbage("the first request is for a library".into()));
        };
        let mut plugin = match Plugin::load(&path, &sha256) {
            Ok((plugin, description)) => {
                wire::write(&mut to, &Answer::Loaded(description), plugin.table().as_bytes())?;
                plugin
            }
            Err(error) => return wire::write(&mut to, &Answer::Refused(error), &[]),
        };
        // Tiles follow each other, and memory that a process gets is filled with zeros first.
        let (mut body, mut codes) = (Aligned::default(), Aligned::default());
        while let Some((request, sizes)) = wire::read(&mut from)? {
            receive(&mut from, &sizes, &mut body)?;
            codes.resize(0);
            let answer = match request {
                Request::Load { .. } => return Err(wire::garbage("a second library".into())),
                Request::Open { options } => plugin.open(&options).map(Answer::Opened),
                Request::Prepare { form, row } => plugin.prepare(form, row, body.bytes()).map(|()| Answer::Prepared),
                Request::Requantize(tile) => plugin.requantize(&tile, &body, &mut codes).map(|()| Answer::Codes),
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
                Request::Emit { target, ir, tensors } => {
                    // A model may be large.
                    let body = mem::take(&mut body);
                    let done = plugin.emit(target, ir, &tensors, &body, &mut to)?;
                    done.map(|()| Answer::Done)
                }
            };
            match answer {
                Ok(answer) => wire::write(&mut to, &answer, codes.bytes())?,
                Err(Fault { status, node, message }) => {
                    wire::write(&mut to, &Answer::Failed { status, node, message }, &[])?;
                }
            }
        }
        Ok(())
    }
}
