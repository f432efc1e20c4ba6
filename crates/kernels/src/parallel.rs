//! Splitting work over the threads of the current rayon pool, by output only.

use crate::error::KernelError;
use rayon::prelude::*;
use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    /// True while work is on this thread alone.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on this thread, without any other: no thread has to be made for it.
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

/// The number of threads that work is split over: those of the current rayon pool, or one in [`alone`].
pub fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// Below this many multiply-adds (or comparable steps) a kernel stays on its thread: waking another costs more.
const WORTH_SPLITTING: usize = 1 << 17;

/// Runs `task(0..tasks)`, on several threads if the whole is at least `WORTH_SPLITTING` steps.
///
/// A task must write no output element of another one; then neither the order nor the number of threads matters.
pub(crate) fn for_each(tasks: usize, steps: usize, task: &(dyn Fn(usize) + Sync)) {
    if tasks > 1 && steps >= WORTH_SPLITTING && threads() > 1 {
        (0..tasks).into_par_iter().for_each(task);
    } else {
        (0..tasks).for_each(task);
    }
}

/// The same for tasks that may fail; of several failures the first task's is given.
pub(crate) fn try_for_each(
    tasks: usize,
    steps: usize,
    task: &(dyn Fn(usize) -> Result<(), KernelError> + Sync),
) -> Result<(), KernelError> {
    if tasks > 1 && steps >= WORTH_SPLITTING && threads() > 1 {
        // `reduce` combines neighbours in order.
        (0..tasks).into_par_iter().map(task).reduce(|| Ok(()), Result::and)
    } else {
        (0..tasks).try_for_each(task)
    }
}

/// The same over consecutive pieces of `out`, each `size` elements (the last may be shorter).
pub(crate) fn for_each_chunk<T: Send>(out: &mut [T], size: usize, steps: usize, task: impl Fn(usize, &mut [T]) + Sync) {
    let len = out.len();
    let out = Shared::new(out);
    for_each(len.div_ceil(size), steps, &|i| {
        let start = i * size;
        // SAFETY: the pieces are disjoint, and each is one task's.
        task(i, unsafe { out.slice(start, size.min(len - start)) });
    });
}

/// An output slice that several tasks write, each its own elements: tiles of a matrix are not contiguous, so
/// `chunks_mut` cannot express them.
pub(crate) struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: `Shared` is an exclusive borrow of the slice that is handed out piece by piece; `slice` asks its callers
// to keep the pieces of different threads apart.
unsafe impl<T: Send> Sync for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Shared<'a, T> {
        Shared {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            borrow: PhantomData,
        }
    }

    /// `len` elements from `at`.
    ///
    /// # Safety
    /// While the returned borrow lives, no other borrow (of any thread) may overlap it.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn slice(&self, at: usize, len: usize) -> &mut [T] {
        assert!(at <= self.len && len <= self.len - at, "a tile outside its output");
        // SAFETY: in bounds by the assertion; unique by the caller's promise; the borrow cannot outlive `'a`.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}
