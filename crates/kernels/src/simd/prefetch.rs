//! Brings memory nearer before it is read, and keeps reads in their order.

/// Brings the cache line at an address into the second-level cache. It does not matter whether the address is readable.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64, and the instruction has no effect that a program could see, at any address.
    unsafe {
        use std::arch::x86_64::*;
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Keeps the compiler from moving reads across this place. Else it reads the elements of all rows of a tile at first, and has to
/// move sums to memory to have registers for them.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn in_order() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}
