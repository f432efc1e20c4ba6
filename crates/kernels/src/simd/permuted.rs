//! Lookups in a table of 256 bytes that is kept in four registers.

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
