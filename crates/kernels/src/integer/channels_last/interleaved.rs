//! The accumulators of depthwise convolutions on AVX-512 with VNNI.
//!
//! `vpdpbusd` adds four products to an accumulator. The four elements are those of four rows of the kernel, so the rows
//! of the image are first interleaved: from the same channel of four rows, four neighbouring bytes are made. An
//! interleaved column is made once and used for all outputs that read it.

use super::Line;
use super::depthwise::{CHANNELS, POSITIONS, Piece, Sums};
use std::arch::x86_64::*;

/// Number of outputs that share the loads of the weights.
const TOGETHER: usize = 4;

/// Computes the accumulators of a piece.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn accumulate(piece: &Piece<'_>, scratch: &mut Vec<Line>, sums: &mut Sums) {
    // SAFETY: this function enables the instruction set that these functions need.
    unsafe {
        match piece.channels.div_ceil(16) {
            1 => vectors::<1>(piece, scratch, sums),
            2 => vectors::<2>(piece, scratch, sums),
            3 => vectors::<3>(piece, scratch, sums),
            _ => vectors::<4>(piece, scratch, sums),
        }
    }
}

/// Computes the accumulators of a piece with `V` vectors of sixteen channels.
///
/// # Safety
/// The machine must have AVX-512 with VNNI.
#[inline(always)]
unsafe fn vectors<const V: usize>(piece: &Piece<'_>, scratch: &mut Vec<Line>, sums: &mut Sums) {
    let window = piece.weights.conv.window;
    let [height, width] = window.kernel;
    let [step, dilation] = [window.stride[1], window.dilation[1]];
    let groups = height.div_ceil(4);
    // The columns of the padded image that the piece reads.
    let columns = (piece.positions - 1) * step + (width - 1) * dilation + 1;
    scratch.resize(groups * columns * V, Line([0; 64]));
    for (group, to) in scratch.chunks_exact_mut(columns * V).enumerate() {
        let rows = (height - 4 * group).min(4);
        let first = piece.y * window.stride[0] + 4 * group * window.dilation[0];
        for (column, to) in to.as_chunks_mut::<V>().0.iter_mut().enumerate() {
            let at = |row: usize| {
                // Rows beyond the kernel are multiplied by weights of 0, so any elements will do.
                let row = first + row.min(rows - 1) * window.dilation[0];
                piece.elements(row, piece.x * step + column)
            };
            // SAFETY: the caller guarantees the instruction set.
            unsafe { interleave(piece.channels, piece.weights.flip(), [at(0), at(1), at(2), at(3)], to) };
        }
    }
    let all = &piece.packed.lines[piece.channel / CHANNELS * groups * width * 4..][..groups * width * 4];
    let starts = &piece.weights.starts[piece.channel..][..16 * V];
    let mut x = 0;
    while x < piece.positions {
        let count = TOGETHER.min(piece.positions - x);
        // SAFETY: the caller guarantees the instruction set. Loads and stores have the 64 bytes of a line, of sixteen
        // starts or of sixteen sums.
        unsafe {
            let mut acc = [[_mm512_setzero_si512(); V]; TOGETHER];
            for acc in &mut acc {
                for (v, acc) in acc.iter_mut().enumerate() {
                    *acc = _mm512_loadu_si512(starts[16 * v..].as_ptr().cast());
                }
            }
            for group in 0..groups {
                for kx in 0..width {
                    let weights = &all[(group * width + kx) * 4..][..4];
                    // Beyond the last position, the last one is computed again.
                    let from: [&[Line]; TOGETHER] = std::array::from_fn(|i| {
                        let column = (x + i.min(count - 1)) * step + kx * dilation;
                        &scratch[(group * columns + column) * V..][..V]
                    });
                    for v in 0..V {
                        let weight = _mm512_load_si512(weights[v].0.as_ptr().cast());
                        for (acc, from) in acc.iter_mut().zip(from) {
                            let elements = _mm512_load_si512(from[v].0.as_ptr().cast());
                            acc[v] = _mm512_dpbusd_epi32(acc[v], elements, weight);
                        }
                    }
                }
            }
            const { assert!(CHANNELS == 64 && POSITIONS.is_multiple_of(TOGETHER)) };
            for (i, acc) in acc.into_iter().enumerate().take(count) {
                let to = &mut sums.0[(x + i) * CHANNELS..][..16 * V];
                for (v, acc) in acc.into_iter().enumerate() {
                    _mm512_storeu_si512(to[16 * v..].as_mut_ptr().cast(), acc);
                }
            }
        }
        x += count;
    }
}

/// Interleaves the elements of four rows, XOR `flip`: byte `4·i + j` of line `l` is channel `16·l + i` of row `j`. Each row
/// has at least `channels` elements.
///
/// # Safety
/// The machine must have AVX-512.
#[inline(always)]
unsafe fn interleave<const V: usize>(channels: usize, flip: u8, rows: [&[u8]; 4], to: &mut [Line; V]) {
    // SAFETY: lanes outside of the mask are not read, and stores have the 64 bytes of a line. The caller guarantees the
    // instruction set.
    unsafe {
        let mask = if channels >= 64 { u64::MAX } else { (1 << channels) - 1 };
        // Unpacking works on each quarter of a register separately. With groups of four channels in this order, its
        // results have the channels in their own order.
        let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        let flip = _mm512_set1_epi8(flip.cast_signed());
        let row = |at: usize| {
            assert!(rows[at].len() >= channels, "a row with all channels");
            let elements = _mm512_maskz_loadu_epi8(mask, rows[at].as_ptr().cast());
            _mm512_permutexvar_epi32(order, _mm512_xor_si512(elements, flip))
        };
        let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
        let (ab, cd) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
        let lines = [_mm512_unpacklo_epi16(ab, cd), _mm512_unpackhi_epi16(ab, cd)];
        let (ab, cd) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
        let more = [_mm512_unpacklo_epi16(ab, cd), _mm512_unpackhi_epi16(ab, cd)];
        for (to, line) in to.iter_mut().zip([lines[0], lines[1], more[0], more[1]]) {
            _mm512_store_si512(to.0.as_mut_ptr().cast(), line);
        }
    }
}
