//! Passes on what a library prints to standard error, up to a limit and without control characters that affect a
//! terminal.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::plain::plain;

/// How many bytes of a worker's standard error are shown.
const MOST: usize = 64 << 10;

/// How many bytes a pipe accepts at once if it is ready.
const PIECE: usize = 4 << 10;

/// At most this many bytes are read in one turn, so that a library that prints without end does not keep the supervisor
/// busy.
const TURN: usize = 256 << 10;

/// The reading end of the pipe for a library's standard error, and the text that was read from it.
pub(super) struct Noise {
    /// The pipe; `None` once all writers have closed it.
    pipe: Option<OwnedFd>,
    /// The first bytes of a character whose remaining bytes have not arrived yet.
    begun: Vec<u8>,
    /// Text that has been read but not shown yet.
    shown: VecDeque<u8>,
    room: usize,
    left_out: u64,
    /// True at the beginning of a line.
    fresh: bool,
}

impl Noise {
    pub(super) fn new(pipe: OwnedFd) -> Noise {
        Noise {
            pipe: Some(pipe),
            begun: Vec::new(),
            shown: VecDeque::new(),
            room: MOST,
            left_out: 0,
            fresh: true,
        }
    }

    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// True if there is text to be shown.
    pub(super) fn waits(&self) -> bool {
        !self.shown.is_empty()
    }

    /// Reads the text that has arrived in the pipe.
    pub(super) fn read(&mut self) {
        let mut buffer = [0; 16 << 10];
        for _ in 0..TURN / buffer.len() {
            let Some(pipe) = &self.pipe else { return };
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.take(&buffer[..count]),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(self.room);
        self.room -= kept;
        self.left_out += (bytes.len() - kept) as u64;
        self.begun.extend(&bytes[..kept]);
        // An incomplete character at the end is kept until its remaining bytes arrive, unless the limit is reached.
        let whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() && self.room > 0 => error.valid_up_to(),
            _ => self.begun.len(),
        };
        let text: Vec<u8> = self.begun.drain(..whole).collect();
        self.say(&plain(&String::from_utf8_lossy(&text)));
    }

    fn say(&mut self, text: &str) {
        self.fresh = text.as_bytes().last().map_or(self.fresh, |&last| last == b'\n');
        self.shown.extend(text.as_bytes());
    }

    /// Writes as much of the text as standard error accepts. If it accepts nothing, waits for at most `wait`.
    pub(super) fn show(&mut self, wait: Duration) {
        let (stderr, wait) = (io::stderr(), Timespec::try_from(wait).unwrap_or_default());
        while !self.shown.is_empty() {
            let mut file = [PollFd::new(&stderr, PollFlags::OUT)];
            match poll(&mut file, Some(&wait)) {
                Ok(0) => return,
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return self.shown.clear(),
            }
            let (front, _) = self.shown.as_slices();
            match rustix::io::write(&stderr, &front[..front.len().min(PIECE)]) {
                Ok(count) => drop(self.shown.drain(..count)),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return,
                // Standard error is closed, so the text is dropped.
                Err(_) => return self.shown.clear(),
            }
        }
    }

    /// Shows the rest of the text. Called when no process prints any more.
    pub(super) fn finish(mut self) {
        // Reading once is enough, since a pipe holds no more than one turn reads.
        self.read();
        let begun = std::mem::take(&mut self.begun);
        self.say(&plain(&String::from_utf8_lossy(&begun)));
        if self.left_out > 0 {
            let line = if self.fresh { "" } else { "\n" };
            self.say(&format!(
                "{line}remark: the plugin printed {} bytes more on standard error, which are not shown\n",
                self.left_out
            ));
        }
        self.show(Duration::from_secs(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise() -> Noise {
        Noise {
            pipe: None,
            ..Noise::new(rustix::io::dup(io::stderr()).unwrap())
        }
    }

    fn text(noise: &Noise) -> String {
        String::from_utf8(noise.shown.iter().copied().collect()).unwrap()
    }

    #[test]
    fn what_is_shown_changes_no_terminal_and_has_an_end() {
        let mut noise = noise();
        noise.take("a\u{1b}[2J\u{9b}1m\r\t".as_bytes());
        noise.take(&"é".as_bytes()[..1]);
        noise.take(&"é".as_bytes()[1..]);
        noise.take(b"\xff\n");
        assert_eq!(text(&noise), "a\\u{1b}[2J\\u{9b}1m\\r\t\u{e9}\u{fffd}\n");
        noise.take(&vec![b'x'; 3 << 20]);
        assert_eq!(text(&noise).matches('x').count(), MOST - 15);
        assert_eq!(noise.left_out, (3 << 20) - (MOST as u64 - 15));
    }
}
