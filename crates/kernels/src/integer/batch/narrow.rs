use crate::simd::I32s;

/// An output type: four vectors of results become `BYTES` vectors of its elements, saturated and clamped.
pub(super) trait Narrow {
    /// Bytes of an element.
    const BYTES: usize;

    /// The clamp's ends, which are codes, as [`Narrow::narrow`] takes them.
    ///
    /// # Safety
    /// The machine has the vectors' instruction set.
    unsafe fn bounds<V: I32s>(bounds: [i32; 2]) -> [V; 2];

    /// The elements, in the first `BYTES` vectors.
    ///
    /// # Safety
    /// The machine has the vectors' instruction set.
    unsafe fn narrow<V: I32s>(four: [V; 4], bounds: [V; 2]) -> [V; 4];
}

pub(super) struct I8;
pub(super) struct U8;
pub(super) struct I16;
pub(super) struct I32;
/// Real numbers, which are as they will be.
pub(super) struct F32;

impl Narrow for I8 {
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn bounds<V: I32s>(bounds: [i32; 2]) -> [V; 2] {
        // Codes fit in a byte.
        let [low, high] = bounds.map(|code| i32::from_ne_bytes([code as u8; 4]));
        // SAFETY: the caller's promise.
        unsafe { [V::splat(low), V::splat(high)] }
    }

    #[inline(always)]
    unsafe fn narrow<V: I32s>(four: [V; 4], [low, high]: [V; 2]) -> [V; 4] {
        // SAFETY: the caller's promise.
        [unsafe { V::to_i8(four).clamp_i8(low, high) }; 4]
    }
}

impl Narrow for U8 {
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn bounds<V: I32s>(bounds: [i32; 2]) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe { I8::bounds(bounds) }
    }

    #[inline(always)]
    unsafe fn narrow<V: I32s>(four: [V; 4], [low, high]: [V; 2]) -> [V; 4] {
        // SAFETY: the caller's promise.
        [unsafe { V::to_u8(four).clamp_u8(low, high) }; 4]
    }
}

impl Narrow for I16 {
    const BYTES: usize = 2;

    #[inline(always)]
    unsafe fn bounds<V: I32s>(bounds: [i32; 2]) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe { I32::bounds(bounds) }
    }

    #[inline(always)]
    unsafe fn narrow<V: I32s>(four: [V; 4], bounds: [V; 2]) -> [V; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let [a, b, c, d] = I32::narrow(four, bounds);
            let (front, back) = (V::to_i16([a, b]), V::to_i16([c, d]));
            [front, back, front, back]
        }
    }
}

impl Narrow for I32 {
    const BYTES: usize = 4;

    #[inline(always)]
    unsafe fn bounds<V: I32s>([low, high]: [i32; 2]) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe { [V::splat(low), V::splat(high)] }
    }

    #[inline(always)]
    unsafe fn narrow<V: I32s>([a, b, c, d]: [V; 4], [low, high]: [V; 2]) -> [V; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            [
                a.min(high).max(low),
                b.min(high).max(low),
                c.min(high).max(low),
                d.min(high).max(low),
            ]
        }
    }
}

impl Narrow for F32 {
    const BYTES: usize = 4;

    #[inline(always)]
    unsafe fn bounds<V: I32s>(bounds: [i32; 2]) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe { I32::bounds(bounds) }
    }

    #[inline(always)]
    unsafe fn narrow<V: I32s>([a, b, c, d]: [V; 4], [low, high]: [V; 2]) -> [V; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            [
                a.min_f32(high).max_f32(low),
                b.min_f32(high).max_f32(low),
                c.min_f32(high).max_f32(low),
                d.min_f32(high).max_f32(low),
            ]
        }
    }
}
