//! Runs many samples on several threads, and delivers their results in order.

use crate::error::ExecuteError;
use crate::threads::start;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many consecutive samples a worker takes at once, at most. Results are delivered together, too, because it takes longer
/// to wake another thread than a small model needs for a sample.
const MOST: usize = 32;
/// Samples are only taken together if all of them take about as long as this.
const SHORT: Duration = Duration::from_millis(1);

/// Why a run over many samples stopped early.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SampleError<E> {
    /// The work or the sink failed for a sample. If this happened for several samples, `index` is the first of them.
    #[error("sample {index}: {source}")]
    Sample {
        /// The index of the sample.
        index: usize,
        /// The error that the work or the sink returned.
        source: E,
    },
    /// The worker of a thread could not be made, or results could not be exchanged with other processes.
    #[error(transparent)]
    Worker(ExecuteError),
    /// The sink asked to stop.
    #[error("stopped after {done} samples")]
    Stopped {
        /// How many samples the sink has received.
        done: usize,
    },
}

impl<E: From<ExecuteError>> SampleError<E> {
    /// Returns the error of the work, the sink or the worker. Returns `stopped` if the sink asked to stop.
    pub fn or(self, stopped: E) -> E {
        match self {
            SampleError::Sample { source, .. } => source,
            SampleError::Worker(error) => error.into(),
            SampleError::Stopped { .. } => stopped,
        }
    }
}

/// Which samples have been started and delivered, and whether the workers have to stop.
struct WorkQueue {
    /// The next sample to start.
    next: usize,
    /// How many samples the sink has received.
    delivered: usize,
    stop: bool,
}

struct Shared {
    queue: Mutex<WorkQueue>,
    moved: Condvar,
    count: usize,
    /// How many blocks of samples may be in progress at the same time.
    window: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, WorkQueue> {
        // If another thread has panicked, the state is still consistent, because it is consistent after each statement.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next samples to work on, at most as many as are wanted, or `None` if there are no more samples. If too many
    /// samples are in progress, waits until the sink has received more results.
    fn take(&self, wanted: usize) -> Option<Range<usize>> {
        let mut progress = self.lock();
        loop {
            if progress.stop || progress.next == self.count {
                return None;
            }
            if progress.next + wanted <= progress.delivered + self.window * wanted {
                // Towards the end, blocks become smaller, so that all workers end at about the same time.
                let fair = (self.count - progress.next) / self.window;
                let first = progress.next;
                progress.next += wanted.min(fair).max(1);
                return Some(first..progress.next);
            }
            progress = self.moved.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn delivered(&self, count: usize) {
        self.lock().delivered += count;
        self.moved.notify_all();
    }

    fn stop(&self) {
        self.lock().stop = true;
        self.moved.notify_all();
    }
}

/// Stops all workers if this value is dropped because of a panic, so that no worker waits forever.
struct StopOnPanic<'a>(&'a Shared);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// Runs `work(worker, index)` for each `index` in `0..count` on `threads` threads, each of which has its own worker.
/// The calling thread passes the results to `sink` in the order of indices.
///
/// If the system cannot start that many threads, fewer threads do the work, or the calling thread does it alone. At
/// most `2·threads` results exist at a time, or blocks of results if a sample takes much less than a millisecond, so memory
/// does not grow with `count`. A worker usually holds a
/// [`Workspace`](crate::Workspace) made with [`Threads::one`](crate::Threads::one). `sink` may stop the run. An error
/// also ends the run; if there are several, the one with the smallest index is returned.
///
/// # Errors
/// See [`SampleError`].
pub fn map_in_order<W, R: Send, E: Send>(
    count: usize,
    threads: NonZeroUsize,
    worker: impl Fn() -> Result<W, ExecuteError> + Sync,
    work: impl Fn(&mut W, usize) -> Result<R, E> + Sync,
    sink: impl FnMut(usize, R) -> Result<ControlFlow<()>, E>,
) -> Result<(), SampleError<E>> {
    map_then(count, threads, worker, work, sink, drop)
}

/// Runs `work(worker, index)` for each `index` in `0..count` as [`map_in_order`] does, and returns the workers, in which the
/// results have been collected. Which worker did which sample, and the order of the workers, differ from run to run, so
/// what is collected must not depend on them. `progress` gets the number of samples that are done, and may stop the run.
///
/// # Errors
/// See [`SampleError`].
pub fn collect_in_workers<W: Send, E: Send>(
    count: usize,
    threads: NonZeroUsize,
    worker: impl Fn() -> Result<W, ExecuteError> + Sync,
    work: impl Fn(&mut W, usize) -> Result<(), E> + Sync,
    mut progress: impl FnMut(usize) -> ControlFlow<()>,
) -> Result<Vec<W>, SampleError<E>> {
    let workers = Mutex::new(Vec::new());
    let ended = |worker| {
        let mut workers = workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.push(worker);
    };
    map_then(count, threads, worker, work, |at, ()| Ok(progress(at + 1)), ended)?;
    Ok(workers.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Does the work of [`map_in_order`], and passes each worker to `ended` when there is nothing left for it to do.
fn map_then<W, R: Send, E: Send>(
    count: usize,
    threads: NonZeroUsize,
    worker: impl Fn() -> Result<W, ExecuteError> + Sync,
    work: impl Fn(&mut W, usize) -> Result<R, E> + Sync,
    mut sink: impl FnMut(usize, R) -> Result<ControlFlow<()>, E>,
    ended: impl Fn(W) + Sync,
) -> Result<(), SampleError<E>> {
    let shared = Shared {
        queue: Mutex::new(WorkQueue {
            next: 0,
            delivered: 0,
            stop: false,
        }),
        moved: Condvar::new(),
        count,
        window: threads.get().saturating_mul(2),
    };
    let (send, receive) = mpsc::channel();
    let done = std::thread::scope(|scope| {
        let wanted = threads.get().min(count);
        let started = (0..wanted).take_while(|_| {
            let send = send.clone();
            let (shared, worker, work, ended) = (&shared, &worker, &work, &ended);
            let samples = move || {
                let _guard = StopOnPanic(shared);
                let mut own = match worker() {
                    Ok(own) => own,
                    Err(error) => {
                        // Sending only fails if the receiver no longer exists, and then the run has already ended.
                        let _ = send.send(Message::NoWorker(error));
                        return;
                    }
                };
                let mut wanted = 1;
                while let Some(block) = shared.take(wanted) {
                    let (first, taken, start) = (block.start, block.len(), Instant::now());
                    let mut results = Vec::with_capacity(taken);
                    for index in block {
                        results.push(work(&mut own, index));
                        if results.last().is_some_and(Result::is_err) {
                            break;
                        }
                    }
                    wanted = match start.elapsed() {
                        time if time > SHORT => (taken / 2).max(1),
                        time if 2 * time < SHORT => (2 * taken).min(MOST),
                        _ => taken,
                    };
                    if send.send(Message::Results(first, results)).is_err() {
                        return;
                    }
                }
                ended(own);
            };
            // If a thread cannot be started, the other threads do its work.
            wanted > 1 && start(scope, "samples", samples).is_some()
        });
        if started.count() == 0 {
            return None;
        }
        drop(send);
        let result = deliver(&shared, receive, &mut sink);
        shared.stop();
        Some(result)
    });
    // `done` is `None` if no other thread was started: one thread is enough, or the system cannot start any.
    done.unwrap_or_else(|| one_by_one(count, worker, work, sink, ended))
}

/// Does all the work of [`map_then`] on the calling thread alone.
fn one_by_one<W, R, E>(
    count: usize,
    worker: impl Fn() -> Result<W, ExecuteError>,
    work: impl Fn(&mut W, usize) -> Result<R, E>,
    mut sink: impl FnMut(usize, R) -> Result<ControlFlow<()>, E>,
    ended: impl Fn(W),
) -> Result<(), SampleError<E>> {
    if count == 0 {
        return Ok(());
    }
    let mut own = worker().map_err(SampleError::Worker)?;
    for index in 0..count {
        let failed = |source| SampleError::Sample { index, source };
        let result = work(&mut own, index).map_err(failed)?;
        let flow = sink(index, result).map_err(failed)?;
        if flow.is_break() && index + 1 < count {
            return Err(SampleError::Stopped { done: index + 1 });
        }
    }
    ended(own);
    Ok(())
}

enum Message<R, E> {
    /// The results of consecutive samples from this one on. After an error there are no more.
    Results(usize, Vec<Result<R, E>>),
    NoWorker(ExecuteError),
}

fn deliver<R, E>(
    shared: &Shared,
    receive: Receiver<Message<R, E>>,
    mut sink: impl FnMut(usize, R) -> Result<ControlFlow<()>, E>,
) -> Result<(), SampleError<E>> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for message in receive {
        match message {
            Message::Results(first, results) => waiting.insert(first, results),
            Message::NoWorker(error) => return Err(SampleError::Worker(error)),
        };
        while let Some(results) = waiting.remove(&next) {
            let count = results.len();
            for result in results {
                let failed = |source| SampleError::Sample { index: next, source };
                let flow = sink(next, result.map_err(failed)?).map_err(failed)?;
                next += 1;
                if flow.is_break() && next < shared.count {
                    return Err(SampleError::Stopped { done: next });
                }
            }
            shared.delivered(count);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    #[test]
    fn results_arrive_in_order_and_few_wait() {
        for count in [0, 1, 7, 1000] {
            for n in [1, 3] {
                let made = AtomicUsize::new(0);
                let mut seen = Vec::new();
                map_in_order(
                    count,
                    threads(n),
                    || Ok(()),
                    |(), index| {
                        made.fetch_add(1, Ordering::SeqCst);
                        if count == 7 {
                            std::thread::sleep(SHORT);
                        }
                        if index % 5 == 0 {
                            std::thread::yield_now();
                        }
                        Ok::<_, String>(index * index)
                    },
                    |index, result| {
                        // The results before `index` were delivered. At most 2 · n further results may exist, or blocks of
                        // them if they take no time.
                        let block = if count == 7 { 1 } else { MOST };
                        assert!(made.load(Ordering::SeqCst) <= index + 2 * n * block);
                        seen.push((index, result));
                        Ok(ControlFlow::Continue(()))
                    },
                )
                .unwrap();
                assert_eq!(seen, (0..count).map(|i| (i, i * i)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn workers_collect_every_sample_once() {
        for (count, n) in [(0, 1), (1, 3), (7, 1), (1000, 3)] {
            let work = |own: &mut Vec<usize>, index| {
                own.push(index);
                Ok::<_, String>(())
            };
            let mut done = 0;
            let workers = collect_in_workers(
                count,
                threads(n),
                || Ok(Vec::new()),
                work,
                |so_far| {
                    done = so_far;
                    ControlFlow::Continue(())
                },
            );
            let mut all = workers.unwrap().concat();
            all.sort_unstable();
            assert_eq!((all, done), ((0..count).collect(), count));
        }
    }

    #[test]
    fn the_first_error_in_order_is_reported() {
        let work = |(): &mut (), index: usize| if index >= 11 { Err(index) } else { Ok(index) };
        let result = map_in_order(50, threads(4), || Ok(()), work, |_, _| Ok(ControlFlow::Continue(())));
        assert_eq!(result, Err(SampleError::Sample { index: 11, source: 11 }));
    }

    #[test]
    fn the_sink_can_stop_the_run() {
        let work = |(): &mut (), index: usize| Ok::<_, String>(index);
        let sink = |index, _| {
            Ok(if index == 4 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        };
        assert_eq!(
            map_in_order(9, threads(2), || Ok(()), work, sink),
            Err(SampleError::Stopped { done: 5 })
        );
    }

    #[test]
    fn a_worker_that_cannot_be_made_is_an_error() {
        let broken = || Err::<(), _>(ExecuteError::Threads("none left".into()));
        let work = |(): &mut (), _: usize| Ok::<(), String>(());
        let result = map_in_order(9, threads(2), broken, work, |_, ()| Ok(ControlFlow::Continue(())));
        assert!(matches!(result, Err(SampleError::Worker(_))));
    }
}
