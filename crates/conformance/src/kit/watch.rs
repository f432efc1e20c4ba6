//! Calls a target's code with a time limit, since it may never return.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How a call failed to return an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The call is still running on a thread of its own.
    Hung,
    /// The thread of the call ended without an answer.
    Ended,
}

/// A function that has to be called after each call of a series, to show that the call has returned.
pub(super) type Alive<'a> = &'a dyn Fn();

/// Makes a series of calls and returns their answer if each call returns in time. If `patience` is `None`, this
/// function sets no time limit, since the calls have a time limit of their own.
pub(super) fn watched<T: Send + 'static>(
    patience: Option<Duration>,
    calls: impl FnOnce(Alive<'_>) -> T + Send + 'static,
) -> Result<T, Lost> {
    let (says, said) = channel();
    thread::spawn(move || {
        // Sending fails if nobody is waiting any more.
        let alive = || _ = says.send(None);
        let answer = calls(&alive);
        let _ = says.send(Some(answer));
    });
    loop {
        let next = match patience {
            None => said.recv().map_err(|_| Lost::Ended)?,
            Some(patience) => said.recv_timeout(patience).map_err(|error| match error {
                RecvTimeoutError::Timeout => Lost::Hung,
                RecvTimeoutError::Disconnected => Lost::Ended,
            })?,
        };
        if let Some(answer) = next {
            return Ok(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_calls_may_take_longer_than_one() {
        let patience = Duration::from_millis(400);
        let calls = |alive: Alive<'_>| {
            for _ in 0..6 {
                thread::sleep(Duration::from_millis(100));
                alive();
            }
            7
        };
        assert_eq!(watched(Some(patience), calls), Ok(7));
        let hangs = |alive: Alive<'_>| {
            alive();
            thread::sleep(Duration::from_secs(3));
        };
        assert_eq!(watched(Some(patience), hangs), Err(Lost::Hung));
    }
}
