//! Vectors of i32 for AVX-512. They have sixteen lanes.

use super::{I32s, silu, transposed_quads};
use crate::simd::intrinsics::{floats, intrinsics};
use std::arch::x86_64::*;

/// Mask of the even lanes in a vector of 32-bit lanes.
const EVEN: u16 = 0b0101_0101_0101_0101;
const ODD: u16 = !EVEN;
/// The ternary function `(a & b) | c`.
const AND_OR: i32 = 0b1110_1010;
/// Shuffle that copies the odd lane of each pair of lanes to both lanes of the pair.
const FROM_ODD: i32 = 0b11_11_01_01;
/// Shuffle that copies the even lane of each pair of lanes to both lanes of the pair.
const FROM_EVEN: i32 = 0b10_10_00_00;

impl I32s for __m512i {
    const LANES: usize = 16;

    intrinsics! {
        splat(x: i32) -> Self = _mm512_set1_epi32(x);
        load(from: *const i32) -> Self = _mm512_loadu_si512(from.cast());
        load_i8(from: *const i8) -> Self = _mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast()));
        load_u8(from: *const u8) -> Self = _mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast()));
        load_i16(from: *const i16) -> Self = _mm512_cvtepi16_epi32(_mm256_loadu_si256(from.cast()));
        load_u16(from: *const u16) -> Self = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
        store(self, to: *mut u8) = _mm512_storeu_si512(to.cast(), self);
        low_halves([even, odd]: [Self; 2]) -> Self = _mm512_mask_shuffle_epi32::<FROM_EVEN>(even, ODD, odd);
        high_halves([even, odd]: [Self; 2]) -> Self = _mm512_mask_shuffle_epi32::<FROM_ODD>(odd, EVEN, even);
        to_f32(self) -> Self = _mm512_castps_si512(_mm512_cvtepi32_ps(self));
        round_f32(self) -> Self = _mm512_cvtps_epi32(_mm512_castsi512_ps(self));
        to_exponent(self) -> Self = _mm512_slli_epi32::<23>(self);
        truncate_f32(self) -> Self = _mm512_cvttps_epi32(_mm512_castsi512_ps(self));
        clamp_i8(self, low: Self, high: Self) -> Self = _mm512_max_epi8(_mm512_min_epi8(self, high), low);
        clamp_u8(self, low: Self, high: Self) -> Self = _mm512_max_epu8(_mm512_min_epu8(self, high), low);
        add(self, other: Self) -> Self = _mm512_add_epi32(self, other);
        min(self, other: Self) -> Self = _mm512_min_epi32(self, other);
        max(self, other: Self) -> Self = _mm512_max_epi32(self, other);
        and(self, other: Self) -> Self = _mm512_and_si512(self, other);
        shift_right(self, counts: Self) -> Self = _mm512_srav_epi32(self, counts);
        add_wide(self, other: Self) -> Self = _mm512_add_epi64(self, other);
        min_wide(self, other: Self) -> Self = _mm512_min_epi64(self, other);
        max_wide(self, other: Self) -> Self = _mm512_max_epi64(self, other);
        shift_right_wide(self, counts: Self) -> Self = _mm512_srav_epi64(self, counts);
    }

    floats! { _mm512_castsi512_ps, _mm512_castps_si512:
        multiply_f32(factors) = _mm512_mul_ps;
        divide_f32(divisors) = _mm512_div_ps;
        add_f32(other) = _mm512_add_ps;
        subtract_f32(other) = _mm512_sub_ps;
        min_f32(other) = _mm512_min_ps;
        max_f32(other) = _mm512_max_ps;
    }

    #[inline(always)]
    unsafe fn load_first(from: *const i32, count: usize) -> Self {
        // SAFETY: the caller upholds the trait method's safety contract, lanes outside of the mask are not read, and
        // `count` is at most 16.
        unsafe { _mm512_maskz_loadu_epi32(((1_u32 << count) - 1) as u16, from) }
    }

    #[inline(always)]
    unsafe fn load_wide(from: *const i64) -> [Self; 2] {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let (front, back) = (_mm512_loadu_epi64(from), _mm512_loadu_epi64(from.add(8)));
            let (even, odd) = (
                _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14),
                _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15),
            );
            [
                _mm512_permutex2var_epi64(front, even, back),
                _mm512_permutex2var_epi64(front, odd, back),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut u8, count: usize) {
        // SAFETY: the caller upholds the trait method's safety contract, bytes outside of the mask are not written, and
        // `count` is at most 64.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), ((1_u128 << count) - 1) as u64, self) }
    }

    #[inline(always)]
    unsafe fn decrement_where_equal(self, a: Self, b: Self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { _mm512_mask_sub_epi32(self, _mm512_cmpeq_epi32_mask(a, b), self, _mm512_set1_epi32(1)) }
    }

    #[inline(always)]
    unsafe fn at_most(sorted: &[i32; 16], x: i32) -> usize {
        // SAFETY: the caller upholds the safety contract of this method.
        let above = unsafe { _mm512_cmpgt_epi32_mask(Self::load(sorted.as_ptr()), _mm512_set1_epi32(x)) };
        // `sorted` ascends, so the numbers above x are at the end, and the lowest bit that is set is the index of the
        // first of them. If no number is above x, the extra bit gives 16.
        (1 << 16 | u32::from(above)).trailing_zeros() as usize
    }

    #[inline(always)]
    unsafe fn products(self, factors: Self) -> [Self; 2] {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let (odd, odd_factors) = (_mm512_srli_epi64::<32>(self), _mm512_srli_epi64::<32>(factors));
            [_mm512_mul_epi32(self, factors), _mm512_mul_epi32(odd, odd_factors)]
        }
    }

    #[inline(always)]
    unsafe fn multiply_wide(self, factors: Self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            // (h·2^32 + l)·f modulo 2^64
            let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(self), factors);
            _mm512_add_epi64(_mm512_mul_epu32(self, factors), _mm512_slli_epi64::<32>(high))
        }
    }

    #[inline(always)]
    unsafe fn add_signed_wide<const X: i64>(self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            // −X has all bits from that of X on, so it is X and all bits above, which are those of −2X.
            let negative = _mm512_srai_epi64::<63>(self);
            let (above, x) = (_mm512_set1_epi64(-2 * X), _mm512_set1_epi64(X));
            _mm512_add_epi64(self, _mm512_ternarylogic_epi64::<AND_OR>(negative, above, x))
        }
    }

    #[inline(always)]
    unsafe fn add_product_f32(self, x: Self, y: Self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let (x, y) = (_mm512_castsi512_ps(x), _mm512_castsi512_ps(y));
            _mm512_castps_si512(_mm512_fmadd_ps(x, y, _mm512_castsi512_ps(self)))
        }
    }

    #[inline(always)]
    unsafe fn all_below_f32(self, bound: Self) -> bool {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let (x, bound) = (_mm512_castsi512_ps(self), _mm512_castsi512_ps(bound));
            _mm512_cmp_ps_mask::<_CMP_LT_OQ>(x, bound) == u16::MAX
        }
    }

    #[inline(always)]
    unsafe fn numbers_f32(self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let x = _mm512_castsi512_ps(self);
            _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask::<_CMP_ORD_Q>(x, x), self)
        }
    }

    #[inline(always)]
    unsafe fn nudge_f32(self, x: Self, up: Self, down: Self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let x = _mm512_castsi512_ps(x);
            let (up, down) = (_mm512_castsi512_ps(up), _mm512_castsi512_ps(down));
            let one = _mm512_set1_epi32(1);
            let above = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(x, up);
            let below = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(x, down);
            let more = _mm512_mask_add_epi32(self, above, self, one);
            _mm512_mask_sub_epi32(more, below, more, one)
        }
    }

    #[inline(always)]
    unsafe fn silu_f32(self) -> Option<Self> {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let (y, uncertain) = silu(_mm512_castsi512_ps(self));
            match uncertain {
                0 => Some(_mm512_castps_si512(y)),
                _ => None,
            }
        }
    }

    // AVX-512 packs each 128-bit quarter separately, so groups of four or eight bytes have to be reordered afterwards.

    #[inline(always)]
    unsafe fn interleave_i8([a, b, c, d]: [Self; 4]) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let bytes = _mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
            _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(transposed_quads()))
        }
    }

    #[inline(always)]
    unsafe fn interleave_u8([a, b, c, d]: [Self; 4]) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let bytes = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
            _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(transposed_quads()))
        }
    }

    #[inline(always)]
    unsafe fn to_i8([a, b, c, d]: [Self; 4]) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let bytes = _mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            _mm512_permutexvar_epi32(order, bytes)
        }
    }

    #[inline(always)]
    unsafe fn to_u8([a, b, c, d]: [Self; 4]) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let bytes = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            _mm512_permutexvar_epi32(order, bytes)
        }
    }

    #[inline(always)]
    unsafe fn to_i16([a, b]: [Self; 2]) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
            _mm512_permutexvar_epi64(order, _mm512_packs_epi32(a, b))
        }
    }

    #[inline(always)]
    unsafe fn to_u16([a, b]: [Self; 2]) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
            _mm512_permutexvar_epi64(order, _mm512_packus_epi32(a, b))
        }
    }
}
