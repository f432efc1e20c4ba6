//! Vectors of i32 for AVX2. They have eight lanes.

use super::silu_eight::silu_eight;
use super::{I32s, transposed_quads};
use crate::simd::intrinsics::{floats, intrinsics};
use std::arch::x86_64::*;

impl I32s for __m256i {
    const LANES: usize = 8;

    intrinsics! {
        splat(x: i32) -> Self = _mm256_set1_epi32(x);
        load(from: *const i32) -> Self = _mm256_loadu_si256(from.cast());
        // Reads eight bytes.
        load_i8(from: *const i8) -> Self = _mm256_cvtepi8_epi32(_mm_loadl_epi64(from.cast()));
        // Reads eight bytes.
        load_u8(from: *const u8) -> Self = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast()));
        load_i16(from: *const i16) -> Self = _mm256_cvtepi16_epi32(_mm_loadu_si128(from.cast()));
        load_u16(from: *const u16) -> Self = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
        store(self, to: *mut u8) = _mm256_storeu_si256(to.cast(), self);
        decrement_where_equal(self, a: Self, b: Self) -> Self = _mm256_add_epi32(self, _mm256_cmpeq_epi32(a, b));
        min_wide(self, other: Self) -> Self = _mm256_blendv_epi8(self, other, _mm256_cmpgt_epi64(self, other));
        max_wide(self, other: Self) -> Self = _mm256_blendv_epi8(other, self, _mm256_cmpgt_epi64(self, other));
        low_halves([even, odd]: [Self; 2]) -> Self =
            _mm256_blend_epi32::<0b1010_1010>(even, _mm256_slli_epi64::<32>(odd));
        high_halves([even, odd]: [Self; 2]) -> Self =
            _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd);
        to_f32(self) -> Self = _mm256_castps_si256(_mm256_cvtepi32_ps(self));
        round_f32(self) -> Self = _mm256_cvtps_epi32(_mm256_castsi256_ps(self));
        to_exponent(self) -> Self = _mm256_slli_epi32::<23>(self);
        truncate_f32(self) -> Self = _mm256_cvttps_epi32(_mm256_castsi256_ps(self));
        // The instructions pack each 128-bit half separately, so the groups have to be reordered.
        to_i16([a, b]: [Self; 2]) -> Self = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(a, b));
        to_u16([a, b]: [Self; 2]) -> Self = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(a, b));
        clamp_i8(self, low: Self, high: Self) -> Self = _mm256_max_epi8(_mm256_min_epi8(self, high), low);
        clamp_u8(self, low: Self, high: Self) -> Self = _mm256_max_epu8(_mm256_min_epu8(self, high), low);
        add(self, other: Self) -> Self = _mm256_add_epi32(self, other);
        min(self, other: Self) -> Self = _mm256_min_epi32(self, other);
        max(self, other: Self) -> Self = _mm256_max_epi32(self, other);
        and(self, other: Self) -> Self = _mm256_and_si256(self, other);
        shift_right(self, counts: Self) -> Self = _mm256_srav_epi32(self, counts);
        add_wide(self, other: Self) -> Self = _mm256_add_epi64(self, other);
    }

    floats! { _mm256_castsi256_ps, _mm256_castps_si256:
        multiply_f32(factors) = _mm256_mul_ps;
        divide_f32(divisors) = _mm256_div_ps;
        add_f32(other) = _mm256_add_ps;
        subtract_f32(other) = _mm256_sub_ps;
        min_f32(other) = _mm256_min_ps;
        max_f32(other) = _mm256_max_ps;
    }

    #[inline(always)]
    unsafe fn load_first(from: *const i32, count: usize) -> Self {
        // SAFETY: the caller upholds the trait method's safety contract, and lanes outside of the mask are not read.
        unsafe {
            let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            // `count` is at most 8.
            _mm256_maskload_epi32(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), lanes))
        }
    }

    #[inline(always)]
    unsafe fn load_wide(from: *const i64) -> [Self; 2] {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let (front, back) = (_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(4).cast()));
            // Each instruction takes the first, or the second, element of both halves: 0 4 2 6, and 1 5 3 7.
            let (even, odd) = (_mm256_unpacklo_epi64(front, back), _mm256_unpackhi_epi64(front, back));
            [
                _mm256_permute4x64_epi64::<0b11_01_10_00>(even),
                _mm256_permute4x64_epi64::<0b11_01_10_00>(odd),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store_first(self, mut to: *mut u8, count: usize) {
        // SAFETY: the caller upholds the trait method's safety contract. Each step stores as many bytes as its bit of `count`
        // stands for.
        unsafe {
            if count >= 32 {
                return self.store(to);
            }
            let mut left = _mm256_castsi256_si128(self);
            if count & 16 != 0 {
                _mm_storeu_si128(to.cast(), left);
                (left, to) = (_mm256_extracti128_si256::<1>(self), to.add(16));
            }
            if count & 8 != 0 {
                _mm_storel_epi64(to.cast(), left);
                (left, to) = (_mm_srli_si128::<8>(left), to.add(8));
            }
            if count & 4 != 0 {
                _mm_storeu_si32(to.cast(), left);
                (left, to) = (_mm_srli_si128::<4>(left), to.add(4));
            }
            if count & 2 != 0 {
                _mm_storeu_si16(to.cast(), left);
                (left, to) = (_mm_srli_si128::<2>(left), to.add(2));
            }
            if count & 1 != 0 {
                to.write(_mm_cvtsi128_si32(left) as u8);
            }
        }
    }

    #[inline(always)]
    unsafe fn at_most(sorted: &[i32; 16], x: i32) -> usize {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let x = _mm256_set1_epi32(x);
            let (front, back) = (Self::load(sorted.as_ptr()), Self::load(sorted.as_ptr().add(8)));
            let above = |eight| _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(eight, x)));
            // `sorted` ascends, so the numbers above x are at the end, and the lowest bit that is set is the index of
            // the first of them. If no number is above x, the extra bit gives 16.
            (1 << 16 | above(back) << 8 | above(front)).trailing_zeros() as usize
        }
    }

    #[inline(always)]
    unsafe fn products(self, factors: Self) -> [Self; 2] {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            // If odd lanes were shifted, the compiler would see shifts of signed 64-bit numbers, which AVX2 does not have, and
            // multiply three times for each product.
            let [odd, odd_factors] = [self, factors].map(|x| _mm256_shuffle_epi32::<0b11_11_01_01>(x));
            [_mm256_mul_epi32(self, factors), _mm256_mul_epi32(odd, odd_factors)]
        }
    }

    #[inline(always)]
    unsafe fn multiply_wide(self, factors: Self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            // (h·2^32 + l)·f modulo 2^64
            let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(self), factors);
            _mm256_add_epi64(_mm256_mul_epu32(self, factors), _mm256_slli_epi64::<32>(high))
        }
    }

    #[inline(always)]
    unsafe fn shift_right_wide(self, counts: Self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            // AVX2 has no arithmetic shift of 64 bits. Let v be the result of the logical shift, and m a number with
            // only the bit to which the sign bit was shifted. Then (v ^ m) − m copies the sign to all higher bits.
            let sign = _mm256_srlv_epi64(_mm256_set1_epi64x(i64::MIN), counts);
            _mm256_sub_epi64(_mm256_xor_si256(_mm256_srlv_epi64(self, counts), sign), sign)
        }
    }

    #[inline(always)]
    unsafe fn add_signed_wide<const X: i64>(self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            // `negative` has all bits set in negative lanes. In these lanes, X − 2·X = −X is added.
            let negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), self);
            let more = _mm256_add_epi64(self, _mm256_set1_epi64x(X));
            _mm256_sub_epi64(more, _mm256_and_si256(negative, _mm256_set1_epi64x(2 * X)))
        }
    }

    #[inline(always)]
    unsafe fn add_product_f32(self, x: Self, y: Self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let (x, y) = (_mm256_castsi256_ps(x), _mm256_castsi256_ps(y));
            _mm256_castps_si256(_mm256_fmadd_ps(x, y, _mm256_castsi256_ps(self)))
        }
    }

    #[inline(always)]
    unsafe fn all_below_f32(self, bound: Self) -> bool {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let (x, bound) = (_mm256_castsi256_ps(self), _mm256_castsi256_ps(bound));
            _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(x, bound)) == 0xFF
        }
    }

    #[inline(always)]
    unsafe fn numbers_f32(self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let x = _mm256_castsi256_ps(self);
            _mm256_castps_si256(_mm256_and_ps(x, _mm256_cmp_ps::<_CMP_ORD_Q>(x, x)))
        }
    }

    #[inline(always)]
    unsafe fn nudge_f32(self, x: Self, up: Self, down: Self) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let x = _mm256_castsi256_ps(x);
            let (up, down) = (_mm256_castsi256_ps(up), _mm256_castsi256_ps(down));
            // If a comparison holds, its lane has all bits set, which is −1.
            let above = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GE_OQ>(x, up));
            let below = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LE_OQ>(x, down));
            _mm256_add_epi32(_mm256_sub_epi32(self, above), below)
        }
    }

    #[inline(always)]
    unsafe fn silu_f32(self) -> Option<Self> {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { silu_eight(_mm256_castsi256_ps(self)).map(|y| _mm256_castps_si256(y)) }
    }

    // AVX2 packs each 128-bit half separately, so groups of four or eight bytes have to be reordered afterwards.

    #[inline(always)]
    unsafe fn interleave_i8([a, b, c, d]: [Self; 4]) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
            _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(transposed_quads()))
        }
    }

    #[inline(always)]
    unsafe fn interleave_u8([a, b, c, d]: [Self; 4]) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
            _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(transposed_quads()))
        }
    }

    #[inline(always)]
    unsafe fn to_i8([a, b, c, d]: [Self; 4]) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
            _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
        }
    }

    #[inline(always)]
    unsafe fn to_u8([a, b, c, d]: [Self; 4]) -> Self {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
            _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
        }
    }
}
