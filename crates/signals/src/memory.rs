//! The system's allocator, and a note of what it refuses.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that were refused last; 0 where nothing was.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator. A program makes it its own by `#[global_allocator]`, so that an end for want of memory is told from
/// others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory;

/// The bytes that were refused last.
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
// SAFETY: every call goes to the system's allocator as it came, and every answer comes back as it is.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        noted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        noted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        noted(unsafe { System.realloc(place, layout, size) }, size)
    }
}
