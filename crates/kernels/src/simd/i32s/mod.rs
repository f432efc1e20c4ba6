//! Vectors of i32. Batch kernels use them to requantize whole rows of accumulators.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod silu;
#[cfg(target_arch = "x86_64")]
mod silu_eight;

#[cfg(target_arch = "x86_64")]
pub(crate) use silu::silu;

/// A vector of i32. Two neighbouring lanes can also be used as one i64, called a wide lane, whose low half is the even
/// lane. Each lane can also be used as the bits of an f32. Integer sums wrap.
///
/// # Safety
/// All functions require that the machine has the instruction set of the vectors. Loads and stores also require what
/// their descriptions say.
pub(crate) trait I32s: Copy {
    /// Number of lanes of the vector.
    const LANES: usize;

    unsafe fn splat(x: i32) -> Self;
    /// Loads `LANES` elements, which have to be readable.
    unsafe fn load(from: *const i32) -> Self;
    /// Loads the first `count` elements, at most `LANES`, which have to be readable. All other lanes are 0.
    unsafe fn load_first(from: *const i32, count: usize) -> Self;
    /// Loads `LANES` elements and widens them. They have to be readable, at any address.
    unsafe fn load_i8(from: *const i8) -> Self;
    /// Loads `LANES` elements and widens them. They have to be readable, at any address.
    unsafe fn load_u8(from: *const u8) -> Self;
    /// Loads `LANES` elements and widens them. They have to be readable, at any address.
    unsafe fn load_i16(from: *const i16) -> Self;
    /// Loads `LANES` elements and widens them. They have to be readable, at any address.
    unsafe fn load_u16(from: *const u16) -> Self;
    /// Loads `LANES` 64-bit elements, which have to be readable, as wide lanes. The first vector gets the elements with
    /// even indices, and the second those with odd indices.
    unsafe fn load_wide(from: *const i64) -> [Self; 2];
    /// Stores the `4·LANES` bytes of the vector, which have to be writable.
    unsafe fn store(self, to: *mut u8);
    /// Stores the first `count` bytes of the vector, at most `4·LANES`, which have to be writable.
    unsafe fn store_first(self, to: *mut u8, count: usize);

    unsafe fn add(self, other: Self) -> Self;
    unsafe fn min(self, other: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    /// Arithmetic shift of each lane to the right, by a count below 32.
    unsafe fn shift_right(self, counts: Self) -> Self;
    /// Subtracts 1 from each lane in which `a` and `b` are equal.
    unsafe fn decrement_where_equal(self, a: Self, b: Self) -> Self;

    /// How many of sixteen sorted numbers are at most `x`.
    unsafe fn at_most(sorted: &[i32; 16], x: i32) -> usize;

    /// Makes 64-bit numbers from their low and high halves. The first vector gets the numbers whose halves are in the
    /// even lanes, and the second those whose halves are in the odd lanes.
    #[inline(always)]
    unsafe fn widen(low: Self, high: Self) -> [Self; 2] {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { [Self::low_halves([low, high]), Self::high_halves([low, high])] }
    }
    /// Multiplies lanes and factors, with exact 64-bit products. The first vector gets the products of the even lanes,
    /// and the second those of the odd lanes.
    unsafe fn products(self, factors: Self) -> [Self; 2];
    unsafe fn add_wide(self, other: Self) -> Self;
    unsafe fn min_wide(self, other: Self) -> Self;
    unsafe fn max_wide(self, other: Self) -> Self;
    /// Multiplies each wide lane by the low half of a wide lane of `factors`, which must not be negative. Keeps the low
    /// 64 bits.
    unsafe fn multiply_wide(self, factors: Self) -> Self;
    /// Arithmetic shift of each wide lane to the right, by a count below 64.
    unsafe fn shift_right_wide(self, counts: Self) -> Self;
    /// Adds `X` to wide lanes that are not negative, and subtracts `X` from all others. `X` is a power of two.
    unsafe fn add_signed_wide<const X: i64>(self) -> Self;
    /// The low halves of two vectors of wide lanes, as one vector. The halves of the first become the even lanes.
    unsafe fn low_halves(pair: [Self; 2]) -> Self;
    /// The high halves of two vectors of wide lanes, as one vector. The halves of the first become the even lanes.
    unsafe fn high_halves(pair: [Self; 2]) -> Self;

    /// Converts each lane to the nearest f32; halves are rounded to even.
    unsafe fn to_f32(self) -> Self;
    unsafe fn multiply_f32(self, factors: Self) -> Self;
    unsafe fn divide_f32(self, divisors: Self) -> Self;
    unsafe fn add_f32(self, other: Self) -> Self;
    unsafe fn subtract_f32(self, other: Self) -> Self;
    /// `self + x·y` on f32 lanes, rounded once.
    unsafe fn add_product_f32(self, x: Self, y: Self) -> Self;
    /// In each lane, the smaller of the two f32. If both are zero, or one is NaN, the result is `other`.
    unsafe fn min_f32(self, other: Self) -> Self;
    /// In each lane, the larger of the two f32. If both are zero, or one is NaN, the result is `other`.
    unsafe fn max_f32(self, other: Self) -> Self;
    /// True if all f32 lanes are below those of `bound`, and none is NaN.
    unsafe fn all_below_f32(self, bound: Self) -> bool;
    /// Shifts each lane to the left by 23 bits, so that it is an exponent that can be added to that of an f32.
    unsafe fn to_exponent(self) -> Self;
    /// Replaces f32 lanes that are NaN by +0.
    unsafe fn numbers_f32(self) -> Self;
    /// Rounds f32 lanes towards zero and converts them to i32. They have to be inside of the range of i32.
    unsafe fn truncate_f32(self) -> Self;
    /// Adds 1 to each integer lane for which `x ≥ up`, and subtracts 1 from each lane for which `x ≤ down`. The lanes
    /// of `x`, `up` and `down` are f32, and none may be NaN.
    unsafe fn nudge_f32(self, x: Self, up: Self, down: Self) -> Self;
    /// Rounds f32 lanes to the nearest integer, halves to even, and converts them to i32. The results have to be in the
    /// range of i32.
    unsafe fn round_f32(self) -> Self;

    /// x / (1 + e^−x) of f32 lanes, with the bits of its definition. `None` if there is no kernel for it, or if it
    /// cannot be certain of a lane.
    #[inline(always)]
    unsafe fn silu_f32(self) -> Option<Self> {
        None
    }

    /// Saturates each lane to i8, and makes lanes of four bytes: byte `j` of each lane is that of the lane of vector `j`.
    unsafe fn interleave_i8(four: [Self; 4]) -> Self;
    /// Saturates each lane to u8, and makes lanes of four bytes, as `interleave_i8` does.
    unsafe fn interleave_u8(four: [Self; 4]) -> Self;
    /// Saturates each lane to i8 and packs four vectors into one.
    unsafe fn to_i8(four: [Self; 4]) -> Self;
    /// Saturates each lane to u8 and packs four vectors into one.
    unsafe fn to_u8(four: [Self; 4]) -> Self;
    /// Saturates each lane to i16 and packs two vectors into one.
    unsafe fn to_i16(two: [Self; 2]) -> Self;
    /// Saturates each lane to u16 and packs two vectors into one.
    unsafe fn to_u16(two: [Self; 2]) -> Self;
    /// Limits each signed byte to at least `low` and at most `high`.
    unsafe fn clamp_i8(self, low: Self, high: Self) -> Self;
    /// Limits each unsigned byte to at least `low` and at most `high`.
    unsafe fn clamp_u8(self, low: Self, high: Self) -> Self;
}

/// The order of bytes that transposes four groups of four: packing works on each quarter of a register separately, and each
/// quarter then has four elements of each vector.
///
/// # Safety
/// The machine must have SSE2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn transposed_quads() -> std::arch::x86_64::__m128i {
    // SAFETY: the caller guarantees the instruction set.
    unsafe { std::arch::x86_64::_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15) }
}
