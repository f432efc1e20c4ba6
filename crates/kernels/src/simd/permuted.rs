//! Lookups in a table of 256 bytes, many at a time.

use super::ByteTables;
use std::arch::x86_64::*;

/// Computes `out = table[input]` for as many whole vectors of 64 bytes as both slices have, and returns the number of
/// bytes.
///
/// `vpermi2b` looks up seven bits of an index in two registers, so two of them and a selection by the eighth bit look
/// up all eight.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn permuted(table: &[u8; 256], input: &[u8], out: &mut [u8]) -> usize {
    let ((vectors, _), (to, _)) = (input.as_chunks::<64>(), out.as_chunks_mut::<64>());
    let count = vectors.len().min(to.len());
    // SAFETY: each load and store has the 64 bytes of its quarter of the table or of its chunk.
    unsafe {
        let quarter = |at: usize| _mm512_loadu_si512(table.as_ptr().add(64 * at).cast());
        let [a, b, c, d] = [quarter(0), quarter(1), quarter(2), quarter(3)];
        for (to, x) in to.iter_mut().zip(vectors) {
            let x = _mm512_loadu_si512(x.as_ptr().cast());
            let (low, high) = (_mm512_permutex2var_epi8(a, x, b), _mm512_permutex2var_epi8(c, x, d));
            let found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
            _mm512_storeu_si512(to.as_mut_ptr().cast(), found);
        }
    }
    64 * count
}

/// Computes `out = table[input]` for as many whole vectors of 32 bytes as both slices have, and returns the number of bytes.
///
/// `vpshufb` looks up the low four bits of an index in sixteen bytes, and gives 0 if the index is negative. So each of the
/// sixteen parts of the table is looked up with indices that are negative unless their high four bits are those of the part.
#[target_feature(enable = "avx2")]
pub(crate) fn shuffled(table: &[u8; 256], input: &[u8], out: &mut [u8]) -> usize {
    let ((vectors, _), (to, _)) = (input.as_chunks::<32>(), out.as_chunks_mut::<32>());
    let count = vectors.len().min(to.len());
    // SAFETY: each load and store has the bytes of its part of the table or of its chunk.
    unsafe {
        let part = |at: usize| _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().add(16 * at).cast()));
        for (to, x) in to.iter_mut().zip(vectors) {
            let x = _mm256_loadu_si256(x.as_ptr().cast());
            let mut found = _mm256_setzero_si256();
            for at in 0..16 {
                // If the high bits are those of the part, they become 0 and then 7, otherwise at least 8.
                let index = _mm256_xor_si256(x, _mm256_set1_epi8((16 * at as u8).cast_signed()));
                let index = _mm256_adds_epu8(index, _mm256_set1_epi8(0x70));
                found = _mm256_or_si256(found, _mm256_shuffle_epi8(part(at), index));
            }
            _mm256_storeu_si256(to.as_mut_ptr().cast(), found);
        }
    }
    32 * count
}

/// Number of elements whose bytes are looked up in one table before the next table is loaded.
const PIECE: usize = 512;

/// Computes `sums = tables[0][a] + tables[1][b]`. Sums wrap. The slices have the same length.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn permuted_sums(tables: &[ByteTables; 2], [a, b]: [&[u8]; 2], sums: &mut [i32]) {
    let pieces = sums.chunks_mut(PIECE).zip(a.chunks(PIECE)).zip(b.chunks(PIECE));
    for ((sums, a), b) in pieces {
        // The four bytes of the numbers for each element.
        let mut parts = [[[0_u8; PIECE]; 4]; 2];
        for (o, elements) in [a, b].into_iter().enumerate() {
            for (table, part) in tables[o].0.iter().zip(&mut parts[o]) {
                looked_up(table, elements, part);
            }
        }
        let (vectors, rest) = sums.as_chunks_mut::<64>();
        for (i, to) in vectors.iter_mut().enumerate() {
            // SAFETY: vector i exists, so bytes 64·i to 64·i + 63 of each part do, and there are 64 sums.
            unsafe {
                let a = widened(&parts[0], 64 * i);
                let b = widened(&parts[1], 64 * i);
                for v in 0..4 {
                    _mm512_storeu_si512(to.as_mut_ptr().add(16 * v).cast(), _mm512_add_epi32(a[v], b[v]));
                }
            }
        }
        let done = 64 * vectors.len();
        for (i, sum) in rest.iter_mut().enumerate() {
            *sum = tables[0].get(a[done + i]).wrapping_add(tables[1].get(b[done + i]));
        }
    }
}

/// Looks up all whole vectors of elements. In each vector of results, the groups of four are in the order that [`widened`]
/// expects.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn looked_up(table: &[u8; 256], elements: &[u8], to: &mut [u8; PIECE]) {
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let ((vectors, _), (to, _)) = (elements.as_chunks::<64>(), to.as_chunks_mut::<64>());
    // SAFETY: each load and store has the 64 bytes of its quarter of the table or of its chunk.
    unsafe {
        let quarter = |at: usize| _mm512_loadu_si512(table.as_ptr().add(64 * at).cast());
        let [a, b, c, d] = [quarter(0), quarter(1), quarter(2), quarter(3)];
        for (to, x) in to.iter_mut().zip(vectors) {
            let x = _mm512_permutexvar_epi32(order, _mm512_loadu_si512(x.as_ptr().cast()));
            let (low, high) = (_mm512_permutex2var_epi8(a, x, b), _mm512_permutex2var_epi8(c, x, d));
            let found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
            _mm512_storeu_si512(to.as_mut_ptr().cast(), found);
        }
    }
}

/// Makes 64 numbers from their bytes. Unpacking works on each quarter of a register separately; with the groups of four in
/// the order of [`looked_up`], the numbers are in their own order.
///
/// # Safety
/// Each part must have 64 bytes from `at` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn widened(parts: &[[u8; PIECE]; 4], at: usize) -> [__m512i; 4] {
    // SAFETY: the caller guarantees that each part has these bytes.
    unsafe {
        let part = |part: usize| _mm512_loadu_si512(parts[part].as_ptr().add(at).cast());
        let [a, b, c, d] = [part(0), part(1), part(2), part(3)];
        let (low, high) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
        let (more_low, more_high) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
        [
            _mm512_unpacklo_epi16(low, high),
            _mm512_unpackhi_epi16(low, high),
            _mm512_unpacklo_epi16(more_low, more_high),
            _mm512_unpackhi_epi16(more_low, more_high),
        ]
    }
}
