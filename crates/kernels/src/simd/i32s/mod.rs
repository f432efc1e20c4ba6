//! Vectors of i32: what whole rows of accumulators are requantized with.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

/// A vector of i32. Two neighbouring lanes are also seen as one i64 ("wide", the even lane is its low half), and each
/// lane as the bits of an f32. Sums wrap.
///
/// # Safety
/// Of all functions: the machine has the instruction set. What loads and stores ask for besides is said there.
pub(crate) trait I32s: Copy {
    /// Lanes.
    const LANES: usize;

    unsafe fn splat(x: i32) -> Self;
    /// `LANES` elements are readable.
    unsafe fn load(from: *const i32) -> Self;
    /// The first `count` lanes, at most `LANES`, which are readable; 0 in the others.
    unsafe fn load_first(from: *const i32, count: usize) -> Self;
    /// `LANES` elements are readable, at any address; they are widened.
    unsafe fn load_i8(from: *const i8) -> Self;
    /// `LANES` elements are readable, at any address; they are widened.
    unsafe fn load_u8(from: *const u8) -> Self;
    /// `LANES` elements are readable, at any address; they are widened.
    unsafe fn load_i16(from: *const i16) -> Self;
    /// `LANES` elements are readable, at any address; they are widened.
    unsafe fn load_u16(from: *const u16) -> Self;
    /// `LANES` elements are readable: the even ones, and the odd ones, as wide lanes.
    unsafe fn load_wide(from: *const i64) -> [Self; 2];
    /// `4·LANES` bytes are writable.
    unsafe fn store(self, to: *mut u8);
    /// The first `count` bytes, at most `4·LANES`, which are writable.
    unsafe fn store_first(self, to: *mut u8, count: usize);

    unsafe fn add(self, other: Self) -> Self;
    unsafe fn min(self, other: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    /// The sign moves in; by a count below 32 in each lane.
    unsafe fn shift_right(self, counts: Self) -> Self;
    /// One less where `a` and `b` are equal.
    unsafe fn decrement_where_equal(self, a: Self, b: Self) -> Self;

    /// Number of elements at most `x` among sixteen sorted numbers.
    unsafe fn at_most(sorted: &[i32; 16], x: i32) -> usize;

    /// The wide lanes of which these are the low and the high halves: those of the even lanes, and of the odd ones.
    unsafe fn widen(low: Self, high: Self) -> [Self; 2];
    /// The exact products of the even lanes, and of the odd ones.
    unsafe fn products(self, factors: Self) -> [Self; 2];
    unsafe fn add_wide(self, other: Self) -> Self;
    unsafe fn min_wide(self, other: Self) -> Self;
    unsafe fn max_wide(self, other: Self) -> Self;
    /// The low 64 bits of each wide lane times the low half of a factor, which is not negative.
    unsafe fn multiply_wide(self, factors: Self) -> Self;
    /// The sign moves in; by a count below 64 in each wide lane.
    unsafe fn shift_right_wide(self, counts: Self) -> Self;
    /// `X` more in wide lanes that are not negative, `X` less in the others.
    unsafe fn add_signed_wide<const X: i64>(self) -> Self;
    /// The low halves of wide even and odd lanes.
    unsafe fn low_halves(pair: [Self; 2]) -> Self;
    /// The high halves of wide even and odd lanes.
    unsafe fn high_halves(pair: [Self; 2]) -> Self;

    /// The nearest f32, ties to even.
    unsafe fn to_f32(self) -> Self;
    unsafe fn multiply_f32(self, factors: Self) -> Self;
    unsafe fn divide_f32(self, divisors: Self) -> Self;
    unsafe fn add_f32(self, other: Self) -> Self;
    unsafe fn subtract_f32(self, other: Self) -> Self;
    /// `self + x·y`, rounded once.
    unsafe fn add_product_f32(self, x: Self, y: Self) -> Self;
    /// Of numbers; so is the other one.
    unsafe fn min_f32(self, other: Self) -> Self;
    /// Of numbers; so is the other one.
    unsafe fn max_f32(self, other: Self) -> Self;
    /// +0 for NaN.
    unsafe fn numbers_f32(self) -> Self;
    /// The integer towards zero of f32 inside i32.
    unsafe fn truncate_f32(self) -> Self;
    /// One more where `x ≥ up`, one less where `x ≤ down`: of f32, none of them NaN.
    unsafe fn nudge_f32(self, x: Self, up: Self, down: Self) -> Self;
    /// The nearest integer, ties to even, of f32 inside i32.
    unsafe fn round_f32(self) -> Self;

    /// Each lane saturated to i8.
    unsafe fn to_i8(four: [Self; 4]) -> Self;
    /// Each lane saturated to u8.
    unsafe fn to_u8(four: [Self; 4]) -> Self;
    /// Each lane saturated to i16.
    unsafe fn to_i16(two: [Self; 2]) -> Self;
    /// Each lane saturated to u16.
    unsafe fn to_u16(two: [Self; 2]) -> Self;
    /// Each byte not below `low` and not above `high`.
    unsafe fn clamp_i8(self, low: Self, high: Self) -> Self;
    /// Each byte not below `low` and not above `high`.
    unsafe fn clamp_u8(self, low: Self, high: Self) -> Self;
}

/// Functions that are one intrinsic on integers.
#[cfg(target_arch = "x86_64")]
macro_rules! intrinsics {
    ($($name:ident($($other:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self $(, $other: Self)*) -> Self {
            // SAFETY: the caller's promise.
            unsafe { $intrinsic(self $(, $other)*) }
        }
    )*};
}
#[cfg(target_arch = "x86_64")]
use intrinsics;

/// Functions that are one intrinsic on f32, between casts to them and back.
#[cfg(target_arch = "x86_64")]
macro_rules! floats {
    ($to:ident, $from:ident: $($name:ident($($other:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self $(, $other: Self)*) -> Self {
            // SAFETY: the caller's promise.
            unsafe { $from($intrinsic($to(self) $(, $to($other))*)) }
        }
    )*};
}
#[cfg(target_arch = "x86_64")]
use floats;
