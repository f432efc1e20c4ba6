//! The worker: this program, executed again, with a library in it. It answers requests from standard input on standard
//! output until that is closed. What the library prints goes to standard error.

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
    use crate::wire::{self, Answer, Request, Sizes};
    use std::fs::File;
    use std::io::{self, BufWriter, Read};

    /// The largest bodies are a model and its weights. The host is believed; a size beyond this is no frame.
    const MOST_BODY: u64 = 1 << 40;

    /// Body of a request, aligned for accumulators.
    fn body(from: &mut File, sizes: &Sizes) -> io::Result<Aligned> {
        let mut bytes = Aligned::new(sizes.body(MOST_BODY)?);
        from.read_exact(bytes.bytes_mut())?;
        Ok(bytes)
    }

    /// The two pipes, and nothing that a library could print into or read from.
    fn pipes() -> io::Result<(File, BufWriter<File>)> {
        let from = rustix::io::dup(io::stdin())?;
        let to = rustix::io::dup(io::stdout())?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Ok((from.into(), BufWriter::new(to.into())))
    }

    pub(super) fn serve() -> io::Result<()> {
        let (mut from, mut to) = pipes()?;
        let Some((Request::Load { path, pinned }, _)) = wire::read(&mut from)? else {
            return Err(wire::garbage("the first request is for a library".into()));
        };
        let mut plugin = match Plugin::load(&path, pinned.as_deref()) {
            Ok((plugin, description)) => {
                wire::write(&mut to, &Answer::Loaded(description), plugin.table().as_bytes())?;
                plugin
            }
            Err(error) => return wire::write(&mut to, &Answer::Refused(error), &[]),
        };
        while let Some((request, sizes)) = wire::read(&mut from)? {
            let body = body(&mut from, &sizes)?;
            let answer = match request {
                Request::Load { .. } => return Err(wire::garbage("a second library".into())),
                Request::Open { options } => plugin
                    .open(&options)
                    .map(|number| (Answer::Opened(number), Aligned::new(0))),
                Request::Prepare { form, row } => {
                    let prepared = plugin.prepare(form, row, body.bytes());
                    prepared.map(|()| (Answer::Prepared, Aligned::new(0)))
                }
                Request::Requantize(tile) => plugin.requantize(&tile, &body).map(|codes| (Answer::Codes, codes)),
                Request::Probe { target, form, probe } => {
                    let fault = plugin.probe(target, form, probe);
                    fault.map(|fault| (Answer::Probed(fault), Aligned::new(0)))
                }
                Request::Emit { target, ir, tensors } => {
                    let done = plugin.emit(target, ir, &tensors, &body, &mut to)?;
                    done.map(|()| (Answer::Done, Aligned::new(0)))
                }
            };
            match answer {
                Ok((answer, body)) => wire::write(&mut to, &answer, body.bytes())?,
                Err(Fault { status, node, message }) => {
                    wire::write(&mut to, &Answer::Failed { status, node, message }, &[])?;
                }
            }
        }
        Ok(())
    }
}
