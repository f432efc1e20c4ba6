//! mimalloc, for small objects.
//!
//! mimalloc gets its memory from the system in arenas. By default, the first arena has 1 GiB, and all of it may be written at
//! once. That counts towards the limits of a process (`ulimit -v`, `ulimit -d`, those of a plugin's worker), even if nothing is
//! in it. So arenas are small here, and only the used part of an arena may be written. Compiling a graph with 100,000 nodes takes
//! as long with this as without it.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, Ordering};

use libmimalloc_sys::{mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;

/// If this option is 0, memory in an arena may be written only when it is used. Bindings have no names for these options; the
/// numbers are those of `mi_option_e` in `mimalloc.h`.
const ARENA_EAGER_COMMIT: mi_option_t = 4;
/// The size of the first arenas, in KiB. After every eight arenas, mimalloc makes larger ones.
const ARENA_RESERVE: mi_option_t = 23;
/// With this size, the first arenas have 64 MiB, the least that mimalloc makes.
const ARENA: i64 = 32 << 10;

/// True if the options are set.
static IS_SET: AtomicBool = AtomicBool::new(false);

/// mimalloc with small arenas.
pub(crate) struct Small;

/// mimalloc, with the options set.
fn ready() -> MiMalloc {
    if !IS_SET.load(Ordering::Relaxed) {
        set();
    }
    MiMalloc
}

/// Sets the options. They hold from the first object on, so this is called before an object is made. Variables of the
/// environment (`MIMALLOC_ARENA_RESERVE`) stay.
#[cold]
fn set() {
    #[allow(unsafe_code)]
    // SAFETY: the options have numbers as values. The first object of a process is made before it has other threads.
    unsafe {
        mi_option_set_default(ARENA_EAGER_COMMIT, 0);
        mi_option_set_default(ARENA_RESERVE, ARENA);
    }
    IS_SET.store(true, Ordering::Relaxed);
}

#[allow(unsafe_code)]
// SAFETY: every call is passed on to mimalloc unchanged, and so is its result.
unsafe impl GlobalAlloc for Small {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees what `GlobalAlloc::alloc` requires.
        unsafe { ready().alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees what `GlobalAlloc::dealloc` requires.
        unsafe { MiMalloc.dealloc(place, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees what `GlobalAlloc::alloc_zeroed` requires.
        unsafe { ready().alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees what `GlobalAlloc::realloc` requires.
        unsafe { MiMalloc.realloc(place, layout, size) }
    }
}
