//! The system's allocator, which records when memory is refused.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Size in bytes of the last allocation that the system refused; 0 if it has refused none.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator. A program that uses it as its `#[global_allocator]` can tell whether it was aborted because
/// the system refused memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory;

/// Size in bytes of the last allocation that the system refused; 0 if it has refused none.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the handlers are Linux's"))]
pub(crate) fn refused() -> usize {
    REFUSED.load(Ordering::Relaxed)
}

/// The number of threads that share one arena of glibc's allocator.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const THREADS_PER_ARENA: usize = 2;

/// There are at least this many arenas. In a compilation with two threads, each of them should find one that is free. With two
/// arenas instead of one, a graph with 100,000 nodes takes 20 % less time and as much memory, and MobileNetV2 as much time and up
/// to 10 MB more memory.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LEAST_ARENAS: usize = 2;

/// Has threads share arenas, so that freed memory is used again.
///
/// By default, glibc gives each thread an arena of its own, up to eight for each core, and an arena keeps memory that was freed
/// in it. A compilation works in phases that each start threads and free large tensors. On two cores, with two arenas instead of
/// as many as glibc allows, MobileNetV2 needs a quarter less memory and as much time. A limit in the environment
/// (`MALLOC_ARENA_MAX`) stays.
pub(crate) fn share_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let arenas = threads.div_ceil(THREADS_PER_ARENA).max(LEAST_ARENAS);
        #[allow(unsafe_code)]
        // SAFETY: `mallopt` takes two numbers, and glibc allows to call it at any time. If it fails, nothing has changed.
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, i32::try_from(arenas).unwrap_or(i32::MAX)) };
    }
}

fn noted(place: *mut u8, size: usize) -> *mut u8 {
    if place.is_null() {
        REFUSED.store(size, Ordering::Relaxed);
    }
    place
}

#[allow(unsafe_code)]
// SAFETY: every call is passed on to the system's allocator unchanged, and so is its result.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees what `GlobalAlloc::alloc` requires.
        noted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees what `GlobalAlloc::dealloc` requires.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees what `GlobalAlloc::alloc_zeroed` requires.
        noted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees what `GlobalAlloc::realloc` requires.
        noted(unsafe { System.realloc(place, layout, size) }, size)
    }
}
