//! Splits work over the threads of the current rayon pool. Each thread computes its own part of the output, so a sum is
//! never split.

use crate::error::KernelError;
use rayon::prelude::*;
use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    /// True while this thread runs [`alone`], so that kernels stay on it.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. All kernels in it stay on this thread, so that no thread pool has to be created for them.
pub fn alone<R>(work: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _before = Before(ALONE.replace(true));
    work()
}

/// The number of threads that kernels split their work over. It is the size of the current rayon pool, or 1 inside of
/// [`alone`].
pub fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// A kernel uses several threads only if it takes at least this many multiply-adds, or other steps that take as long.
/// With fewer steps, waking another thread would take longer than it saves.
const WORTH_SPLITTING: usize = 1 << 17;

/// Runs `task(0)` to `task(tasks − 1)`. Several threads are used if the whole work has at least `WORTH_SPLITTING`
/// steps.
///
/// No task may write an output element of another task. Then neither the order of tasks nor the number of threads
/// matters.
pub(crate) fn for_each(tasks: usize, steps: usize, task: &(dyn Fn(usize) + Sync)) {
    if tasks > 1 && steps >= WORTH_SPLITTING && threads() > 1 {
        (0..tasks).into_par_iter().for_each(task);
    } else {
        (0..tasks).for_each(task);
    }
}

/// Like `for_each`, for tasks that can fail. If several tasks fail, the error is that of the first of them.
pub(crate) fn try_for_each(
    tasks: usize,
    steps: usize,
    task: &(dyn Fn(usize) -> Result<(), KernelError> + Sync),
) -> Result<(), KernelError> {
    if tasks > 1 && steps >= WORTH_SPLITTING && threads() > 1 {
        // `reduce` combines neighbours in order, so the error of the first task is returned.
        (0..tasks).into_par_iter().map(task).reduce(|| Ok(()), Result::and)
    } else {
        (0..tasks).try_for_each(task)
    }
}

/// Divides `out` into consecutive pieces of `size` elements (the last may be shorter), and runs a task on each piece.
pub(crate) fn for_each_chunk<T: Send>(out: &mut [T], size: usize, steps: usize, task: impl Fn(usize, &mut [T]) + Sync) {
    let len = out.len();
    let out = Shared::new(out);
    for_each(len.div_ceil(size), steps, &|i| {
        let start = i * size;
        // SAFETY: the pieces do not overlap, and each piece belongs to one task.
        task(i, unsafe { out.slice(start, size.min(len - start)) });
    });
}

/// An output slice to which several tasks write at the same time. Each task writes only its own elements. `chunks_mut`
/// cannot split the slice for the tasks, because tiles of a matrix are not contiguous.
pub(crate) struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: `Shared` holds an exclusive borrow of the slice and hands it out piece by piece. `slice` requires of its
// callers that the pieces of different threads do not overlap.
unsafe impl<T: Send> Sync for Shared<'_, T> {}
// SAFETY: as above, pieces of different threads do not overlap.
unsafe impl<T: Send> Send for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Shared<'a, T> {
        Shared {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            borrow: PhantomData,
        }
    }

    /// Borrows `len` elements from index `at` on.
    ///
    /// # Safety
    /// While the returned borrow is alive, no other borrow, on any thread, may overlap it.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn slice(&self, at: usize, len: usize) -> &mut [T] {
        assert!(at <= self.len && len <= self.len - at, "a tile outside its output");
        // SAFETY: the assertion keeps the borrow inside of the slice, the caller guarantees that no other borrow
        // overlaps it, and it cannot outlive `'a`.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}
