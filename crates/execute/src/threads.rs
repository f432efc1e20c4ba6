//! A stated number of threads.

use crate::error::ExecuteError;
use std::num::NonZeroUsize;
use std::sync::Arc;

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
        std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
    }

    /// The number of threads.
    pub fn count(&self) -> usize {
        self.pool.current_num_threads()
    }

    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }
}
