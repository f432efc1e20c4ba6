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

/// Says of a series of calls that one of them has returned.
pub(super) type Alive<'a> = &'a dyn Fn();

/// The answer of a series of calls, if each comes to an end in time; `None` where calls have a clock of their own.
pub(super) fn watched<T: Send + 'static>(
    patience: Option<Duration>,
    calls: impl FnOnce(Alive<'_>) -> T + Send + 'static,
) -> Result<T, Lost> {
    let (says, said) = channel();
    thread::spawn(move || {
        // Nobody waits any more where the other end is gone.
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
