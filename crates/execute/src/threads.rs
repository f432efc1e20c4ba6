//! A stated number of threads.

use crate::error::ExecuteError;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

/// A pool of a stated number of threads. Nothing here ever runs on rayon's global pool.
#[derive(Clone, Debug)]
pub struct Threads {
    pool: Arc<rayon::ThreadPool>,
}

impl Threads {
    /// A pool of `count` threads.
    ///
    /// # Errors
    /// [`ExecuteError::Threads`] where the operating system refuses.
    pub fn new(count: NonZeroUsize) -> Result<Threads, ExecuteError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count.get()).build();
        let pool = pool.map_err(|error| ExecuteError::Threads(error.to_string()))?;
        Ok(Threads { pool: Arc::new(pool) })
    }

    /// A single thread.
    ///
    /// # Errors
    /// As for [`Threads::new`].
    pub fn one() -> Result<Threads, ExecuteError> {
        Threads::new(NonZeroUsize::MIN)
    }

    /// As many as the machine has; one where it does not say.
    pub fn available() -> NonZeroUsize {
        thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
    }

    /// The number of threads.
    pub fn count(&self) -> usize {
        self.pool.current_num_threads()
    }

    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }
}

/// Does both, at the same time where there are threads for it.
///
/// # Errors
/// Those of `first`, or else those of `second`; a thread that cannot be made.
pub fn both<T: Send, E: From<ExecuteError> + Send>(
    threads: NonZeroUsize,
    first: impl FnOnce() -> Result<T, E> + Send,
    second: impl FnOnce() -> Result<T, E>,
) -> Result<[T; 2], E> {
    let (first, second) = match threads.get() {
        1 => (first()?, second()),
        _ => thread::scope(|scope| {
            let beside = thread::Builder::new().spawn_scoped(scope, first);
            let beside = beside.map_err(|error| ExecuteError::Threads(error.to_string()))?;
            let second = second();
            let first = beside.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            Ok::<_, E>((first, second))
        })?,
    };
    Ok([first, second?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_works_give_the_same_whatever_the_number_of_threads() {
        let bad = |text: &str| Err(ExecuteError::Threads(text.into()));
        let said = |done: Result<[i32; 2], ExecuteError>| done.map_err(|error| error.to_string());
        let of = |text: &str| Err(ExecuteError::Threads(text.into()).to_string());
        for threads in 1..3 {
            let threads = NonZeroUsize::new(threads).unwrap();
            assert_eq!(said(both(threads, || Ok(1), || Ok(2))), Ok([1, 2]));
            assert_eq!(said(both(threads, || bad("first"), || Ok(2))), of("first"));
            assert_eq!(said(both(threads, || Ok(1), || bad("second"))), of("second"));
            assert_eq!(said(both(threads, || bad("first"), || bad("second"))), of("first"));
        }
    }
}
