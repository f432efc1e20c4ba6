//! Vectors of i32: what whole rows of accumulators are requantized with.

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

    /// How many of sixteen sorted numbers are at most `x`.
    unsafe fn at_most(sorted: &[i32; 16], x: i32) -> usize;

    /// The wide lanes of which these are the low and the high halves: those of the even lanes, and of the odd ones.
    unsafe fn widen(low: Self, high: Self) -> [Self; 2];
    /// The exact products of the even lanes, and of the odd ones.
    unsafe fn products(self, factors: Self) -> [Self; 2];
    unsafe fn add_wide(self, other: Self) -> Self;
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
    unsafe fn add_f32(self, other: Self) -> Self;
    /// The nearest integer, ties to even, of f32 inside i32.
    unsafe fn round_f32(self) -> Self;

    /// Each lane saturated to i8.
    unsafe fn to_i8(four: [Self; 4]) -> Self;
    /// Each lane saturated to u8.
    unsafe fn to_u8(four: [Self; 4]) -> Self;
    /// Each lane saturated to i16.
    unsafe fn to_i16(two: [Self; 2]) -> Self;
    /// Each byte not below `low` and not above `high`.
    unsafe fn clamp_i8(self, low: Self, high: Self) -> Self;
    /// Each byte not below `low` and not above `high`.
    unsafe fn clamp_u8(self, low: Self, high: Self) -> Self;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::I32s;
    use std::arch::x86_64::*;

    /// Functions that are one intrinsic.
    macro_rules! intrinsics {
        ($($name:ident($($other:ident),*) = $intrinsic:ident;)*) => {$(
            #[inline(always)]
            unsafe fn $name(self $(, $other: Self)*) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $intrinsic(self $(, $other)*) }
            }
        )*};
    }

    /// AVX2.
    impl I32s for __m256i {
        const LANES: usize = 8;

        intrinsics! {
            add(other) = _mm256_add_epi32;
            min(other) = _mm256_min_epi32;
            max(other) = _mm256_max_epi32;
            and(other) = _mm256_and_si256;
            shift_right(counts) = _mm256_srav_epi32;
            add_wide(other) = _mm256_add_epi64;
        }

        #[inline(always)]
        unsafe fn splat(x: i32) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm256_set1_epi32(x) }
        }

        #[inline(always)]
        unsafe fn load(from: *const i32) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm256_loadu_si256(from.cast()) }
        }

        #[inline(always)]
        unsafe fn load_first(from: *const i32, count: usize) -> Self {
            // SAFETY: the caller's promise; lanes outside of the mask are not read.
            unsafe {
                let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                // At most 8.
                _mm256_maskload_epi32(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), lanes))
            }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut u8) {
            // SAFETY: the caller's promise.
            unsafe { _mm256_storeu_si256(to.cast(), self) }
        }

        #[inline(always)]
        unsafe fn store_first(self, to: *mut u8, count: usize) {
            let mut bytes = [0_u8; 32];
            // SAFETY: the caller's promise; `count` is at most 32.
            unsafe {
                self.store(bytes.as_mut_ptr());
                to.copy_from_nonoverlapping(bytes.as_ptr(), count);
            }
        }

        #[inline(always)]
        unsafe fn decrement_where_equal(self, a: Self, b: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm256_add_epi32(self, _mm256_cmpeq_epi32(a, b)) }
        }

        #[inline(always)]
        unsafe fn at_most(sorted: &[i32; 16], x: i32) -> usize {
            // SAFETY: the caller's promise.
            unsafe {
                let x = _mm256_set1_epi32(x);
                let (front, back) = (Self::load(sorted.as_ptr()), Self::load(sorted.as_ptr().add(8)));
                let above = |eight| _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(eight, x)));
                // The numbers above x are the last ones; a bit behind them stands for none.
                (1 << 16 | above(back) << 8 | above(front)).trailing_zeros() as usize
            }
        }

        #[inline(always)]
        unsafe fn widen(low: Self, high: Self) -> [Self; 2] {
            // SAFETY: the caller's promise.
            unsafe {
                [
                    _mm256_blend_epi32::<0b1010_1010>(low, _mm256_slli_epi64::<32>(high)),
                    _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(low), high),
                ]
            }
        }

        #[inline(always)]
        unsafe fn products(self, factors: Self) -> [Self; 2] {
            // SAFETY: the caller's promise.
            unsafe {
                let (odd, odd_factors) = (_mm256_srli_epi64::<32>(self), _mm256_srli_epi64::<32>(factors));
                [_mm256_mul_epi32(self, factors), _mm256_mul_epi32(odd, odd_factors)]
            }
        }

        #[inline(always)]
        unsafe fn shift_right_wide(self, counts: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                // There is no arithmetic shift of 64 bits. With the bit where the sign goes, m: (v ^ m) − m extends it.
                let sign = _mm256_srlv_epi64(_mm256_set1_epi64x(i64::MIN), counts);
                _mm256_sub_epi64(_mm256_xor_si256(_mm256_srlv_epi64(self, counts), sign), sign)
            }
        }

        #[inline(always)]
        unsafe fn add_signed_wide<const X: i64>(self) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                // All ones where negative. X − 2·X = −X
                let negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), self);
                let more = _mm256_add_epi64(self, _mm256_set1_epi64x(X));
                _mm256_sub_epi64(more, _mm256_and_si256(negative, _mm256_set1_epi64x(2 * X)))
            }
        }

        #[inline(always)]
        unsafe fn low_halves([even, odd]: [Self; 2]) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm256_blend_epi32::<0b1010_1010>(even, _mm256_slli_epi64::<32>(odd)) }
        }

        #[inline(always)]
        unsafe fn high_halves([even, odd]: [Self; 2]) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd) }
        }

        #[inline(always)]
        unsafe fn to_f32(self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm256_castps_si256(_mm256_cvtepi32_ps(self)) }
        }

        #[inline(always)]
        unsafe fn multiply_f32(self, factors: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                let product = _mm256_mul_ps(_mm256_castsi256_ps(self), _mm256_castsi256_ps(factors));
                _mm256_castps_si256(product)
            }
        }

        #[inline(always)]
        unsafe fn add_f32(self, other: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                let sum = _mm256_add_ps(_mm256_castsi256_ps(self), _mm256_castsi256_ps(other));
                _mm256_castps_si256(sum)
            }
        }

        #[inline(always)]
        unsafe fn round_f32(self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm256_cvtps_epi32(_mm256_castsi256_ps(self)) }
        }

        // Packing works in halves of 128 bits: the fours of bytes, or the eights, change places behind it.

        #[inline(always)]
        unsafe fn to_i8([a, b, c, d]: [Self; 4]) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                let bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
                _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
            }
        }

        #[inline(always)]
        unsafe fn to_u8([a, b, c, d]: [Self; 4]) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                let bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
                _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
            }
        }

        #[inline(always)]
        unsafe fn to_i16([a, b]: [Self; 2]) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(a, b)) }
        }

        #[inline(always)]
        unsafe fn clamp_i8(self, low: Self, high: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm256_max_epi8(_mm256_min_epi8(self, high), low) }
        }

        #[inline(always)]
        unsafe fn clamp_u8(self, low: Self, high: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm256_max_epu8(_mm256_min_epu8(self, high), low) }
        }
    }

    /// Even lanes of a vector of 32 bits.
    const EVEN: u16 = 0b0101_0101_0101_0101;
    const ODD: u16 = !EVEN;
    /// Both lanes of a pair from its odd one, and from its even one.
    const FROM_ODD: i32 = 0b11_11_01_01;
    const FROM_EVEN: i32 = 0b10_10_00_00;

    /// AVX-512.
    impl I32s for __m512i {
        const LANES: usize = 16;

        intrinsics! {
            add(other) = _mm512_add_epi32;
            min(other) = _mm512_min_epi32;
            max(other) = _mm512_max_epi32;
            and(other) = _mm512_and_si512;
            shift_right(counts) = _mm512_srav_epi32;
            add_wide(other) = _mm512_add_epi64;
            shift_right_wide(counts) = _mm512_srav_epi64;
        }

        #[inline(always)]
        unsafe fn splat(x: i32) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm512_set1_epi32(x) }
        }

        #[inline(always)]
        unsafe fn load(from: *const i32) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm512_loadu_si512(from.cast()) }
        }

        #[inline(always)]
        unsafe fn load_first(from: *const i32, count: usize) -> Self {
            // SAFETY: the caller's promise; lanes outside of the mask are not read. `count` is at most 16.
            unsafe { _mm512_maskz_loadu_epi32(((1_u32 << count) - 1) as u16, from) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut u8) {
            // SAFETY: the caller's promise.
            unsafe { _mm512_storeu_si512(to.cast(), self) }
        }

        #[inline(always)]
        unsafe fn store_first(self, to: *mut u8, count: usize) {
            // SAFETY: the caller's promise; bytes outside of the mask are not written. `count` is at most 64.
            unsafe { _mm512_mask_storeu_epi8(to.cast(), ((1_u128 << count) - 1) as u64, self) }
        }

        #[inline(always)]
        unsafe fn decrement_where_equal(self, a: Self, b: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm512_mask_sub_epi32(self, _mm512_cmpeq_epi32_mask(a, b), self, _mm512_set1_epi32(1)) }
        }

        #[inline(always)]
        unsafe fn at_most(sorted: &[i32; 16], x: i32) -> usize {
            // SAFETY: the caller's promise.
            let above = unsafe { _mm512_cmpgt_epi32_mask(Self::load(sorted.as_ptr()), _mm512_set1_epi32(x)) };
            // The numbers above x are the last ones; a bit behind them stands for none.
            (1 << 16 | u32::from(above)).trailing_zeros() as usize
        }

        #[inline(always)]
        unsafe fn widen(low: Self, high: Self) -> [Self; 2] {
            // SAFETY: the caller's promise.
            unsafe {
                [
                    _mm512_mask_shuffle_epi32::<FROM_EVEN>(low, ODD, high),
                    _mm512_mask_shuffle_epi32::<FROM_ODD>(high, EVEN, low),
                ]
            }
        }

        #[inline(always)]
        unsafe fn products(self, factors: Self) -> [Self; 2] {
            // SAFETY: the caller's promise.
            unsafe {
                let (odd, odd_factors) = (_mm512_srli_epi64::<32>(self), _mm512_srli_epi64::<32>(factors));
                [_mm512_mul_epi32(self, factors), _mm512_mul_epi32(odd, odd_factors)]
            }
        }

        #[inline(always)]
        unsafe fn add_signed_wide<const X: i64>(self) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                let negative = _mm512_movepi64_mask(self);
                let more = _mm512_add_epi64(self, _mm512_set1_epi64(X));
                _mm512_mask_sub_epi64(more, negative, more, _mm512_set1_epi64(2 * X))
            }
        }

        #[inline(always)]
        unsafe fn low_halves([even, odd]: [Self; 2]) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm512_mask_shuffle_epi32::<FROM_EVEN>(even, ODD, odd) }
        }

        #[inline(always)]
        unsafe fn high_halves([even, odd]: [Self; 2]) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm512_mask_shuffle_epi32::<FROM_ODD>(odd, EVEN, even) }
        }

        #[inline(always)]
        unsafe fn to_f32(self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm512_castps_si512(_mm512_cvtepi32_ps(self)) }
        }

        #[inline(always)]
        unsafe fn multiply_f32(self, factors: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                let product = _mm512_mul_ps(_mm512_castsi512_ps(self), _mm512_castsi512_ps(factors));
                _mm512_castps_si512(product)
            }
        }

        #[inline(always)]
        unsafe fn add_f32(self, other: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                let sum = _mm512_add_ps(_mm512_castsi512_ps(self), _mm512_castsi512_ps(other));
                _mm512_castps_si512(sum)
            }
        }

        #[inline(always)]
        unsafe fn round_f32(self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm512_cvtps_epi32(_mm512_castsi512_ps(self)) }
        }

        // Packing works in quarters of 128 bits: the fours of bytes, or the eights, change places behind it.

        #[inline(always)]
        unsafe fn to_i8([a, b, c, d]: [Self; 4]) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                let bytes = _mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
                let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
                _mm512_permutexvar_epi32(order, bytes)
            }
        }

        #[inline(always)]
        unsafe fn to_u8([a, b, c, d]: [Self; 4]) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                let bytes = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
                let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
                _mm512_permutexvar_epi32(order, bytes)
            }
        }

        #[inline(always)]
        unsafe fn to_i16([a, b]: [Self; 2]) -> Self {
            // SAFETY: the caller's promise.
            unsafe {
                let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
                _mm512_permutexvar_epi64(order, _mm512_packs_epi32(a, b))
            }
        }

        #[inline(always)]
        unsafe fn clamp_i8(self, low: Self, high: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm512_max_epi8(_mm512_min_epi8(self, high), low) }
        }

        #[inline(always)]
        unsafe fn clamp_u8(self, low: Self, high: Self) -> Self {
            // SAFETY: the caller's promise.
            unsafe { _mm512_max_epu8(_mm512_min_epu8(self, high), low) }
        }
    }
}
