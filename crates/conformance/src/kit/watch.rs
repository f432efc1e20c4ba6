//! Calls of a target's code that may not come to an end.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// A call that did not come to an end in time, or in no good way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It goes on, on a thread of its own.
    Hung,
    /// Its thread ended without an answer.
    Ended,
}

/// The answer of a call, if it comes in time; `None` where the call has a clock of its own.
pub(super) fn watched<T: Send + 'static>(
    patience: Option<Duration>,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Lost> {
    let (answer, answers) = channel();
    thread::spawn(move || {
        // Nobody waits any more where the other end is gone.
        let _ = answer.send(call());
    });
    let Some(patience) = patience else {
        return answers.recv().map_err(|_| Lost::Ended);
    };
    answers.recv_timeout(patience).map_err(|error| match error {
        RecvTimeoutError::Timeout => Lost::Hung,
        RecvTimeoutError::Disconnected => Lost::Ended,
    })
}
