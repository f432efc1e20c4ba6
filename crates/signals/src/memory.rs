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
