//! Sums of codes with factors, as products of words.

use super::{AffineWords, LOW_BITS};
use std::arch::x86_64::*;

/// Computes the sums of as many whole vectors of 64 codes as there are, and returns their number of codes.
///
/// `vpdpwssd` adds two products of words. A factor has more bits than a word, so its high and its low part are multiplied
/// separately.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(crate) fn affine_sums(words: &AffineWords, [a, b]: [&[u8]; 2], out: &mut [u8]) -> usize {
    let ((first, _), (second, _), (to, _)) = (a.as_chunks::<64>(), b.as_chunks::<64>(), out.as_chunks_mut::<64>());
    let count = first.len().min(second.len()).min(to.len());
    let (flip_a, flip_b) = (splat(words.flips[0]), splat(words.flips[1]));
    let (lowest, highest) = (splat(words.bounds[0]), splat(words.bounds[1]));
    let (high, high_offset) = (_mm512_set1_epi32(words.high[0]), _mm512_set1_epi32(words.high[1]));
    let (low, low_offset) = (_mm512_set1_epi32(words.low[0]), _mm512_set1_epi32(words.low[1]));
    let down = _mm_cvtsi32_si128(words.shift.cast_signed());
    let zero = _mm512_setzero_si512();
    for ((to, a), b) in to.iter_mut().zip(first).zip(second) {
        // SAFETY: each load and store has the 64 bytes of its chunk.
        unsafe {
            let a = _mm512_xor_si512(_mm512_loadu_si512(a.as_ptr().cast()), flip_a);
            let b = _mm512_xor_si512(_mm512_loadu_si512(b.as_ptr().cast()), flip_b);
            let (front, back) = (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b));
            let mut four = [
                _mm512_unpacklo_epi8(front, zero),
                _mm512_unpackhi_epi8(front, zero),
                _mm512_unpacklo_epi8(back, zero),
                _mm512_unpackhi_epi8(back, zero),
            ];
            for pair in &mut four {
                let more = _mm512_srai_epi32::<LOW_BITS>(_mm512_dpwssd_epi32(low_offset, *pair, low));
                let sums = _mm512_add_epi32(_mm512_dpwssd_epi32(high_offset, *pair, high), more);
                *pair = _mm512_sra_epi32(sums, down);
            }
            let [a, b, c, d] = four;
            // Packing works on each quarter of a register separately, as unpacking does, so the codes are in their own order.
            let (front, back) = (_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
            let codes = if words.signed {
                let codes = _mm512_packs_epi16(front, back);
                _mm512_max_epi8(_mm512_min_epi8(codes, highest), lowest)
            } else {
                let codes = _mm512_packus_epi16(front, back);
                _mm512_max_epu8(_mm512_min_epu8(codes, highest), lowest)
            };
            _mm512_storeu_si512(to.as_mut_ptr().cast(), codes);
        }
    }
    64 * count
}

/// A vector of equal bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn splat(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}
