//! The accumulators of depthwise convolutions on AVX2.
//!
//! `vpmaddwd` adds two products of words to an accumulator. The two words are the elements of two rows of the kernel, so the
//! rows of the image are first widened to words and interleaved: from the same channel of two rows, two neighbouring words are
//! made. An interleaved column is made once and used for all outputs that read it.

use super::Line;
use super::piece::{CHANNELS, LANES, Piece, Quad, Sums};
use std::arch::x86_64::*;

/// Computes the accumulators of a piece. `scratch` is room that is used again for other pieces.
#[target_feature(enable = "avx2,fma")]
pub(super) fn accumulate(piece: &Piece<'_>, scratch: &mut Vec<Line>, sums: &mut Sums) {
    let columns = fill(piece, scratch);
    for v in 0..piece.channels.div_ceil(LANES) {
        for row in 0..piece.rows {
            let weights = piece.words(row, v);
            let sums = &mut sums.0[row][LANES * v..];
            match (piece.groups(), weights.len()) {
                (1, 1) => outputs::<1>(piece, weights, columns, (scratch, v), sums),
                (1, 3) => outputs::<3>(piece, weights, columns, (scratch, v), sums),
                _ => outputs::<0>(piece, weights, columns, (scratch, v), sums),
            }
        }
    }
}

/// Interleaves the columns that a piece reads: `[groups of four rows][columns][vectors of channels]` lines. The first half of a
/// line has the words of the first two rows of the group, and the second half those of the other two. Returns the number of
/// columns.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn fill(piece: &Piece<'_>, scratch: &mut Vec<Line>) -> usize {
    let (groups, columns) = (piece.groups(), piece.columns());
    let vectors = piece.channels.div_ceil(LANES);
    let size = groups * columns * vectors;
    if scratch.len() < size {
        scratch.resize(size, Line([0; 64]));
    }
    let flip = _mm_set1_epi8(piece.weights.flip().cast_signed());
    for (group, to) in scratch[..size].chunks_exact_mut(columns * vectors).enumerate() {
        let Quad { rows, inside, .. } = piece.quad(group);
        for (column, to) in to.chunks_exact_mut(vectors).enumerate() {
            let mut elements = [piece.padding(); 4];
            if inside.contains(&column) {
                for (elements, (row, step)) in elements.iter_mut().zip(rows) {
                    *elements = &row[(column - inside.start) * step..];
                }
            }
            for (v, to) in to.chunks_mut(2).enumerate() {
                let from = 2 * LANES * v;
                let mut lines = [_mm_setzero_si128(); 4];
                for (line, elements) in lines.iter_mut().zip(elements) {
                    *line = _mm_xor_si128(sixteen(&elements[from..], piece.channels - from), flip);
                }
                let [a, b, c, d] = lines;
                store(&mut to[0], [_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d)]);
                if let Some(to) = to.get_mut(1) {
                    store(to, [_mm_unpackhi_epi8(a, b), _mm_unpackhi_epi8(c, d)]);
                }
            }
        }
    }
    columns
}

/// Loads sixteen bytes if there are as many, or else `least` of them. What is missing is 0.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn sixteen(bytes: &[u8], least: usize) -> __m128i {
    if let Some(sixteen) = bytes.first_chunk::<16>() {
        // SAFETY: sixteen bytes are read from an array of sixteen.
        return unsafe { _mm_loadu_si128(sixteen.as_ptr().cast()) };
    }
    let mut few = [0; 16];
    few[..least].copy_from_slice(&bytes[..least]);
    // SAFETY: as above.
    unsafe { _mm_loadu_si128(few.as_ptr().cast()) }
}

/// Widens the bytes of both halves of a line to words.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(to: &mut Line, [front, back]: [__m128i; 2]) {
    let to = to.0.as_mut_ptr().cast::<__m256i>();
    // SAFETY: a line has 64 bytes, which is two vectors, and is aligned to 64 bytes.
    unsafe {
        to.write(_mm256_cvtepu8_epi16(front));
        to.add(1).write(_mm256_cvtepu8_epi16(back));
    }
}

/// Loads both halves of a line.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(line: &Line) -> [__m256i; 2] {
    let line = line.0.as_ptr().cast::<__m256i>();
    // SAFETY: a line has 64 bytes, which is two vectors, and is aligned to 64 bytes.
    unsafe { [line.read(), line.add(1).read()] }
}

/// Computes the accumulators of vector `v` of channels for all outputs of a row. If `TAPS` is not 0, there is one group of rows
/// and this many weights, which stay in registers.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn outputs<const TAPS: usize>(
    piece: &Piece<'_>,
    weights: &[Line],
    columns: usize,
    (scratch, v): (&[Line], usize),
    sums: &mut [i32],
) {
    let window = piece.weights.conv.window;
    let (width, step, dilation) = (window.kernel[1], window.stride[1], window.dilation[1]);
    let vectors = piece.channels.div_ceil(LANES);
    let starts: &[i32] = &piece.weights.starts[piece.channel + LANES * v..][..LANES];
    // SAFETY: eight numbers are read.
    let starts = unsafe { _mm256_loadu_si256(starts.as_ptr().cast()) };
    let mut kept = [[_mm256_setzero_si256(); 2]; TAPS];
    kept.iter_mut().zip(weights).for_each(|(kept, line)| *kept = load(line));
    let add = |sum, line: &Line, [front, back]: [__m256i; 2]| {
        let [x, y] = load(line);
        let both = _mm256_add_epi32(_mm256_madd_epi16(x, front), _mm256_madd_epi16(y, back));
        _mm256_add_epi32(sum, both)
    };
    for (x, to) in sums.chunks_mut(CHANNELS).take(piece.positions).enumerate() {
        let at = |group: usize, tap: usize| ((group * columns + x * step + tap * dilation) * vectors) + v;
        let mut sum = starts;
        if TAPS > 0 {
            for (tap, &weights) in kept.iter().enumerate() {
                sum = add(sum, &scratch[at(0, tap)], weights);
            }
        } else {
            for (index, line) in weights.iter().enumerate() {
                sum = add(sum, &scratch[at(index / width, index % width)], load(line));
            }
        }
        let to: &mut [i32] = &mut to[..LANES];
        // SAFETY: eight numbers are written.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), sum) };
    }
}
