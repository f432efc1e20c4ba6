//! Pipes on which reading and writing have a time limit.

#[cfg(unix)]
pub(crate) use with_time::Pipes;
#[cfg(not(unix))]
pub(crate) use without::Pipes;

#[cfg(unix)]
mod with_time {
    use crate::child::{Waiting, is_gone};
    use crate::wire::{self, Request};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::io::{self, Read};
    use std::os::fd::AsFd;
    use std::process::{ChildStdin, ChildStdout};
    use std::time::Duration;

    /// The time between two checks whether the worker has ended. The pipe need not end when the worker ends, since a
    /// process that the plugin has started may keep it open.
    const LOOK: Duration = Duration::from_millis(100);

    pub(crate) struct Pipes {
        to: ChildStdin,
        from: ChildStdout,
    }

    impl Pipes {
        pub(crate) fn new((to, from): (ChildStdin, ChildStdout)) -> io::Result<Pipes> {
            rustix::io::ioctl_fionbio(&to, true)?;
            rustix::io::ioctl_fionbio(&from, true)?;
            // The pipe is made large enough for a whole tile if the system allows it. By default it holds a quarter of
            // a tile.
            #[cfg(target_os = "linux")]
            {
                let _ = rustix::pipe::fcntl_setpipe_size(&to, PIPE_BYTES);
                let _ = rustix::pipe::fcntl_setpipe_size(&from, PIPE_BYTES);
            }
            Ok(Pipes { to, from })
        }

        pub(crate) fn write(&mut self, request: &Request, body: &[&[u8]], waiting: &Waiting<'_>) -> io::Result<()> {
            wire::write_parts(&mut &self.to, request, body, |error| {
                wait(error, &self.to, PollFlags::OUT, waiting)
            })
        }

        pub(crate) fn read(&mut self, mut bytes: &mut [u8], waiting: &Waiting<'_>) -> io::Result<()> {
            // The time limit is checked even if data is always ready. Otherwise a worker that never stops writing would
            // keep the host busy for ever.
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

    /// If `error` says that the pipe is not ready, waits until it is. Any other error is returned.
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

/// Workers are not supported on this system yet.
#[cfg(not(unix))]
mod without {
    use crate::child::Waiting;
    use crate::wire::Request;
    use std::io;
    use std::process::{ChildStdin, ChildStdout};

    pub(crate) enum Pipes {}

    impl Pipes {
        pub(crate) fn new(_: (ChildStdin, ChildStdout)) -> io::Result<Pipes> {
            Err(io::Error::other("plugins in libraries need Linux or macOS"))
        }

        pub(crate) fn write(&mut self, _: &Request, _: &[&[u8]], _: &Waiting<'_>) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn read(&mut self, _: &mut [u8], _: &Waiting<'_>) -> io::Result<()> {
            match *self {}
        }
    }
}
