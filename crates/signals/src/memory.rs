//! The allocator of the program, which records when memory is refused.
//!
//! A compilation makes millions of small objects (nodes, names, shapes, certificates) and a few large ones (tensors). Large
//! ones come from the system's allocator, which gives their pages back when they are freed. On x86-64 Linux, small ones come from
//! mimalloc, which keeps objects of one size together; elsewhere they come from the system's allocator too. A graph with 100,000 nodes compiles in three quarters of the time that it takes
//! with glibc's allocator alone. With mimalloc alone, MobileNetV2 needs a quarter more memory, because mimalloc keeps the pages
//! of large objects for a while.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

// mimalloc is written in C. The other platforms are checked without a C compiler for them.
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
use crate::small::Small;
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")))]
use std::alloc::System as Small;

/// Size in bytes of the last allocation that the system refused; 0 if it has refused none.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// The allocator of small and large objects. A program that uses it as its `#[global_allocator]` can tell whether it was
/// aborted because the system refused memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory;

/// Size in bytes of the last allocation that the system refused; 0 if it has refused none.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the handlers are Linux's"))]
pub(crate) fn refused() -> usize {
    REFUSED.load(Ordering::Relaxed)
}

/// The most bytes of a small object. With 1 KiB, a graph with 100,000 nodes takes a tenth longer to compile. With 32 KiB it
/// takes as long, and DeiT-tiny needs 10 MB more memory.
const LARGEST_SMALL: usize = 4096;

fn is_small(size: usize) -> bool {
    size <= LARGEST_SMALL
}

/// The number of threads that share one arena of glibc's allocator.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const THREADS_PER_ARENA: usize = 2;

/// There are at least this many arenas. Where small objects come from them too, two threads need an arena each: with one, a
/// graph with 100,000 nodes takes 20 % longer.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LEAST_ARENAS: usize = if cfg!(target_arch = "x86_64") { 1 } else { 2 };

/// Has threads share arenas, so that freed memory is used again.
///
/// By default, glibc gives each thread an arena of its own, up to eight for each core, and an arena keeps memory that was freed
/// in it. A compilation works in phases that each start threads and free large tensors. On two cores, with one arena instead of
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
// SAFETY: every call is passed on unchanged to one of two allocators, and so is its result. The size of an object says which of
// them has made it, since `dealloc` and `realloc` get the layout that the object was made with. An object that gets another
// allocator when its size changes is made anew, and keeps the bytes that both sizes have.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees what `GlobalAlloc::alloc` requires.
        let place = unsafe {
            match is_small(layout.size()) {
                true => Small.alloc(layout),
                false => System.alloc(layout),
            }
        };
        noted(place, layout.size())
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees what `GlobalAlloc::dealloc` requires, and this allocator has made the object.
        unsafe {
            match is_small(layout.size()) {
                true => Small.dealloc(place, layout),
                false => System.dealloc(place, layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees what `GlobalAlloc::alloc_zeroed` requires.
        let place = unsafe {
            match is_small(layout.size()) {
                true => Small.alloc_zeroed(layout),
                false => System.alloc_zeroed(layout),
            }
        };
        noted(place, layout.size())
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees what `GlobalAlloc::realloc` requires: among other things, that `size` with this alignment
        // is a layout, and that `place` is an object with `layout`. A new object does not overlap an old one.
        let new = unsafe {
            match (is_small(layout.size()), is_small(size)) {
                (true, true) => Small.realloc(place, layout, size),
                (false, false) => System.realloc(place, layout, size),
                _ => {
                    let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !new.is_null() {
                        new.copy_from_nonoverlapping(place, layout.size().min(size));
                        self.dealloc(place, layout);
                    }
                    new
                }
            }
        };
        noted(new, size)
    }
}
