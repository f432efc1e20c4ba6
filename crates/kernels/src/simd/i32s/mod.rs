//! Vectors of i32, with which whole rows of accumulators are requantized.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

/// A vector of i32. Two neighbouring lanes can also be seen as one i64 (a "wide" lane, whose low half is the even
/// lane), and each lane as the bits of an f32. Sums wrap.
///
/// # Safety
/// For all functions: the machine has the instruction set. Loads and stores say what else they require.
pub(crate) trait I32s: Copy {
    /// Number of lanes.
    const LANES: usize;

    unsafe fn splat(x: i32) -> Self;
    /// Loads `LANES` elements, which are readable.
    unsafe fn load(from: *const i32) -> Self;
    /// Loads the first `count` lanes, at most `LANES`, which are readable. The other lanes are 0.
    unsafe fn load_first(from: *const i32, count: usize) -> Self;
    /// Loads and widens `LANES` elements, which are readable at any address.
    unsafe fn load_i8(from: *const i8) -> Self;
    /// Loads and widens `LANES` elements, which are readable at any address.
    unsafe fn load_u8(from: *const u8) -> Self;
    /// Loads and widens `LANES` elements, which are readable at any address.
    unsafe fn load_i16(from: *const i16) -> Self;
    /// Loads and widens `LANES` elements, which are readable at any address.
    unsafe fn load_u16(from: *const u16) -> Self;
    /// Loads `LANES` elements, which are readable, as wide lanes: the even elements, and the odd ones.
    unsafe fn load_wide(from: *const i64) -> [Self; 2];
    /// Stores `4·LANES` bytes, which are writable.
    unsafe fn store(self, to: *mut u8);
    /// Stores the first `count` bytes, at most `4·LANES`, which are writable.
    unsafe fn store_first(self, to: *mut u8, count: usize);

    unsafe fn add(self, other: Self) -> Self;
    unsafe fn min(self, other: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    /// Arithmetic shift right of each lane by a count below 32.
    unsafe fn shift_right(self, counts: Self) -> Self;
    /// Subtracts one from the lanes where `a` and `b` are equal.
    unsafe fn decrement_where_equal(self, a: Self, b: Self) -> Self;

    /// How many of sixteen sorted numbers are at most `x`.
    unsafe fn at_most(sorted: &[i32; 16], x: i32) -> usize;

    /// Joins low and high halves to wide lanes: those of the even lanes, and those of the odd lanes.
    unsafe fn widen(low: Self, high: Self) -> [Self; 2];
    /// The exact 64-bit products of the even lanes, and of the odd lanes.
    unsafe fn products(self, factors: Self) -> [Self; 2];
    unsafe fn add_wide(self, other: Self) -> Self;
    unsafe fn min_wide(self, other: Self) -> Self;
    unsafe fn max_wide(self, other: Self) -> Self;
    /// The low 64 bits of each wide lane times the low half of a factor, which must not be negative.
    unsafe fn multiply_wide(self, factors: Self) -> Self;
    /// Arithmetic shift right of each wide lane by a count below 64.
    unsafe fn shift_right_wide(self, counts: Self) -> Self;
    /// Adds `X` to wide lanes that are not negative, and subtracts `X` from the others.
    unsafe fn add_signed_wide<const X: i64>(self) -> Self;
    /// The low halves of wide lanes, even and odd, as one vector.
    unsafe fn low_halves(pair: [Self; 2]) -> Self;
    /// The high halves of wide lanes, even and odd, as one vector.
    unsafe fn high_halves(pair: [Self; 2]) -> Self;

    /// Converts each lane to the nearest f32, ties to even.
    unsafe fn to_f32(self) -> Self;
    unsafe fn multiply_f32(self, factors: Self) -> Self;
    unsafe fn divide_f32(self, divisors: Self) -> Self;
    unsafe fn add_f32(self, other: Self) -> Self;
    unsafe fn subtract_f32(self, other: Self) -> Self;
    /// `self + x·y` on f32 lanes, rounded once.
    unsafe fn add_product_f32(self, x: Self, y: Self) -> Self;
    /// The smaller f32 of each lane. Neither operand has a NaN.
    unsafe fn min_f32(self, other: Self) -> Self;
    /// The larger f32 of each lane. Neither operand has a NaN.
    unsafe fn max_f32(self, other: Self) -> Self;
    /// Replaces NaN by +0.
    unsafe fn numbers_f32(self) -> Self;
    /// Rounds f32 lanes towards zero. They are inside the range of i32.
    unsafe fn truncate_f32(self) -> Self;
    /// Adds one where `x ≥ up` and subtracts one where `x ≤ down`. These are f32, and none is NaN.
    unsafe fn nudge_f32(self, x: Self, up: Self, down: Self) -> Self;
    /// Rounds f32 lanes to the nearest integer, ties to even. They are inside the range of i32.
    unsafe fn round_f32(self) -> Self;

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

/// Implements methods that are a single integer intrinsic.
#[cfg(target_arch = "x86_64")]
macro_rules! intrinsics {
    ($($name:ident($($other:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self $(, $other: Self)*) -> Self {
            // SAFETY: the caller upholds the safety contract of this method.
            unsafe { $intrinsic(self $(, $other)*) }
        }
    )*};
}
#[cfg(target_arch = "x86_64")]
use intrinsics;

/// Implements methods that are a single f32 intrinsic, between casts from and to integers.
#[cfg(target_arch = "x86_64")]
macro_rules! floats {
    ($to:ident, $from:ident: $($name:ident($($other:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self $(, $other: Self)*) -> Self {
            // SAFETY: the caller upholds the safety contract of this method.
            unsafe { $from($intrinsic($to(self) $(, $to($other))*)) }
        }
    )*};
}
#[cfg(target_arch = "x86_64")]
use floats;
