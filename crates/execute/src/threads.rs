//! Thread pools with a stated number of threads.

use crate::error::ExecuteError;
use std::hint::black_box;
use std::iter;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle, Scope, ScopedJoinHandle};

/// The stack size of a thread in bytes. It does not depend on `RUST_MIN_STACK`, which could be too small.
const STACK: usize = 2 << 20;

/// The address space, in bytes, that the system's allocator reserves for each thread. In glibc it is 64 MiB.
const ARENA: usize = 64 << 20;

/// The largest useful number of threads. A single run is divided into tiles of the output, and more threads than this
/// never make it faster.
pub const MOST_THREADS: usize = 256;

/// A pool with a given number of threads, or fewer if the system cannot start that many. No work ever runs on rayon's
/// global pool.
#[derive(Clone, Debug)]
pub struct Threads {
    /// The pool; `None` if the calling thread does all the work.
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl Threads {
    /// Makes a pool of `count` threads. If the system refuses to start them, tries half as many, then a quarter, and so
    /// on. If no thread can be started, the calling thread works alone. [`Threads::count`] returns the number of
    /// threads in the pool. The number does not change any result.
    pub fn new(count: NonZeroUsize) -> Threads {
        let mut wanted = count.get().min(MOST_THREADS);
        while wanted > 1 {
            let pool = rayon::ThreadPoolBuilder::new()
                .stack_size(STACK)
                .num_threads(wanted)
                .build();
            if let Ok(pool) = pool {
                return Threads {
                    pool: Some(Arc::new(pool)),
                };
            }
            wanted /= 2;
        }
        Threads::one()
    }

    /// Returns a pool without threads of its own: the calling thread does all the work.
    pub fn one() -> Threads {
        Threads { pool: None }
    }

    /// Returns the number of threads that the machine can run at the same time; 1 if this is not known.
    pub fn available() -> NonZeroUsize {
        thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
    }

    /// Finds how many threads this process can start now, up to `wanted`, by starting them.
    pub fn obtainable(wanted: NonZeroUsize) -> NonZeroUsize {
        let wanted = wanted.get().min(MOST_THREADS);
        // The calling thread is one of the threads that work. It needs memory, too.
        let more = with_memory(wanted).saturating_sub(1);
        let (hold, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let made = thread::scope(|scope| {
            // Each thread waits until the sending end of the channel is dropped.
            let wait = || _ = held.lock().map(|held| held.recv());
            let made = (0..more).take_while(|_| start(scope, "thread", wait).is_some());
            let made = made.count();
            drop(hold);
            made
        });
        NonZeroUsize::MIN.saturating_add(made)
    }

    /// Returns the number of threads.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Runs `work` in this pool.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => strait_kernels::alone(work),
        }
    }
}

/// Returns how many threads, up to `wanted`, the system has memory for. This is found by reserving the memory and not by
/// starting the threads: a thread that starts when no memory is left ends the process.
fn with_memory(wanted: usize) -> usize {
    let mut reserved: Vec<Vec<u8>> = Vec::new();
    while reserved.len() < wanted {
        let mut of_one = Vec::new();
        if of_one.try_reserve_exact(STACK + ARENA).is_err() || reserved.try_reserve(1).is_err() {
            break;
        }
        reserved.push(of_one);
    }
    // Without this, the compiler may leave out allocations that are never read.
    black_box(&reserved).len()
}

/// Starts a thread for `work`. Returns `None` if the system cannot start one.
pub(crate) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    let builder = thread::Builder::new().name(name.to_owned()).stack_size(STACK);
    builder.spawn_scoped(scope, work).ok()
}

/// Runs two functions. They run at the same time if `threads` is more than one and the system can start a thread.
///
/// # Errors
/// The error of `first`; if there is none, the error of `second`.
pub fn both<T: Send, U, E: From<ExecuteError> + Send>(
    threads: NonZeroUsize,
    first: impl FnOnce() -> Result<T, E> + Send,
    second: impl FnOnce() -> Result<U, E>,
) -> Result<(T, U), E> {
    // The thread that runs `first` takes it from this mutex. If `first` were moved into a thread that cannot be
    // started, it would be lost.
    let first = Mutex::new(Some(first));
    let take = || first.lock().ok().and_then(|mut first| first.take());
    let (first, second) = thread::scope(|scope| {
        let beside = (threads.get() > 1)
            .then(|| start(scope, "first", || take().map(|first| first())))
            .flatten();
        let Some(beside) = beside else {
            return (take().map(|first| first()), second());
        };
        let second = second();
        (beside.join().unwrap_or_else(|panic| resume_unwind(panic)), second)
    });
    // Only one thread takes `first`.
    let first = first.ok_or_else(|| ExecuteError::Threads("the work of one was lost".into()))?;
    Ok((first?, second?))
}

/// The items are divided into this many parts for each thread, so that no thread waits long for the last part of another.
const PARTS: usize = 16;

/// Applies `map` to each item. Each thread takes the next part of neighbouring items until none is left, since some items can
/// take much longer than others. The results have the order of the items, whatever the number of threads is.
pub fn each<T: Sync, R: Send>(threads: NonZeroUsize, items: &[T], map: &(impl Fn(&T) -> R + Sync)) -> Vec<R> {
    let size = items.len().div_ceil(threads.get().saturating_mul(PARTS)).max(1);
    let parts = Mutex::new(items.chunks(size).enumerate());
    let next = || parts.lock().ok().and_then(|mut parts| parts.next());
    let work = || -> Vec<(usize, Vec<R>)> {
        let of_part = |(at, part): (usize, &[T])| (at, part.iter().map(map).collect());
        iter::from_fn(next).map(of_part).collect()
    };
    let mut done = thread::scope(|scope| {
        let more = 1..threads.get().min(items.len()).min(MOST_THREADS);
        let beside: Vec<_> = more.map_while(|_| start(scope, "each", work)).collect();
        let mut done = work();
        let joined = beside
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.extend(joined.flatten());
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    let mut all = Vec::with_capacity(items.len());
    done.into_iter().for_each(|(_, results)| all.extend(results));
    all
}

/// Work on a thread of its own, for which somebody waits later. If this is dropped, the thread goes on by itself.
pub struct Aside<T>(JoinHandle<T>);

impl<T: Send + 'static> Aside<T> {
    /// Starts the work. Returns `None` if the system cannot start a thread.
    pub fn start(work: impl FnOnce() -> T + Send + 'static) -> Option<Aside<T>> {
        let builder = thread::Builder::new().name("aside".to_owned()).stack_size(STACK);
        builder.spawn(work).ok().map(Aside)
    }
}

impl<T> Aside<T> {
    /// Waits for the result.
    ///
    /// # Errors
    /// The payload of a panic of the work.
    pub fn join(self) -> thread::Result<T> {
        self.0.join()
    }
}

/// Frees a large value on a thread of its own, for which nobody waits. If `threads` is one, or the system cannot start a
/// thread, frees it at once.
pub fn free_aside(threads: NonZeroUsize, value: impl Send + 'static) {
    if threads.get() == 1 {
        return;
    }
    let builder = thread::Builder::new().name("free".to_owned()).stack_size(STACK);
    // A thread that is not started drops what it would have got.
    let _ = builder.spawn(move || drop(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_works_give_the_same_whatever_the_number_of_threads() {
        let bad = |text: &str| Err::<i32, _>(ExecuteError::Threads(text.into()));
        let said = |done: Result<(i32, i32), ExecuteError>| done.map_err(|error| error.to_string());
        let of = |text: &str| Err(ExecuteError::Threads(text.into()).to_string());
        for threads in 1..3 {
            let threads = NonZeroUsize::new(threads).unwrap();
            assert_eq!(said(both(threads, || Ok(1), || Ok(2))), Ok((1, 2)));
            assert_eq!(said(both(threads, || bad("first"), || Ok(2))), of("first"));
            assert_eq!(said(both(threads, || Ok(1), || bad("second"))), of("second"));
            assert_eq!(said(both(threads, || bad("first"), || bad("second"))), of("first"));
        }
    }

    #[test]
    fn results_have_the_order_of_their_items() {
        for (threads, count) in [(1, 5), (2, 0), (2, 1), (3, 2), (3, 100), (5, 7)] {
            let items: Vec<usize> = (0..count).collect();
            let found = each(NonZeroUsize::new(threads).unwrap(), &items, &|item| 2 * item);
            assert_eq!(found, (0..count).map(|item| 2 * item).collect::<Vec<_>>());
        }
    }

    #[test]
    fn more_threads_than_help_are_not_made() {
        let many = Threads::new(NonZeroUsize::MAX);
        assert!((1..=MOST_THREADS).contains(&many.count()));
        assert_eq!(Threads::obtainable(NonZeroUsize::MIN).get(), 1);
        assert!((2..=3).contains(&Threads::obtainable(NonZeroUsize::new(3).unwrap()).get()));
    }
}
