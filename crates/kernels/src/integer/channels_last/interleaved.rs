//! The accumulators of depthwise convolutions on AVX-512 with VNNI.
//!
//! `vpdpbusd` adds four products to an accumulator. The four elements are those of four rows of the kernel, so the rows
//! of the image are first interleaved: from the same channel of four rows, four neighbouring bytes are made. An
//! interleaved column is made once and used for all outputs that read it.
//!
//! Loops over vectors count indices, because an iterator over an array of registers would move them to memory.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array of registers would move them to memory"
)]

use super::Line;
use super::piece::{CHANNELS, Piece, Quad, ROWS, Sums};
use std::{arch::x86_64::*, ops::Range};

/// Number of accumulators that are computed together, each of sixteen channels.
const TOGETHER: usize = 16;
/// The largest number of neighbouring outputs that are computed together.
const OUTPUTS: usize = 4;

/// What is done with accumulators.
pub(crate) trait End {
    /// Takes the accumulators of an output: `row` and `x` are its place in the piece.
    ///
    /// # Safety
    /// The machine must have AVX-512, and the output must belong to the piece.
    unsafe fn take<const V: usize>(&mut self, row: usize, x: usize, sums: [__m512i; V]);
}

impl End for Sums {
    #[inline(always)]
    unsafe fn take<const V: usize>(&mut self, row: usize, x: usize, sums: [__m512i; V]) {
        let to = self.0[row][x * CHANNELS..][..16 * V].as_mut_ptr();
        for v in 0..V {
            // SAFETY: there is room for V vectors. The caller guarantees the instruction set.
            unsafe { _mm512_storeu_si512(to.add(16 * v).cast(), sums[v]) };
        }
    }
}

/// Computes the accumulators of a piece.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn accumulate(piece: &Piece<'_>, scratch: &mut Vec<Line>, sums: &mut Sums) {
    // SAFETY: this function enables the instruction set.
    unsafe { compute(piece, scratch, sums) }
}

/// Computes the accumulators of a piece, and passes them on. `scratch` is room that is used again for other pieces.
///
/// # Safety
/// The machine must have AVX-512 with VNNI.
#[inline(always)]
pub(crate) unsafe fn compute(piece: &Piece<'_>, scratch: &mut Vec<Line>, end: &mut impl End) {
    // SAFETY: the caller guarantees the instruction set that these functions need.
    unsafe {
        match (piece.channels.div_ceil(16), piece.rows) {
            (1, ROWS) => sums::<1, ROWS>(piece, scratch, end),
            (2, ROWS) => sums::<2, ROWS>(piece, scratch, end),
            (3, ROWS) => sums::<3, ROWS>(piece, scratch, end),
            (_, ROWS) => sums::<4, ROWS>(piece, scratch, end),
            (1, _) => sums::<1, 1>(piece, scratch, end),
            (2, _) => sums::<2, 1>(piece, scratch, end),
            (3, _) => sums::<3, 1>(piece, scratch, end),
            (_, _) => sums::<4, 1>(piece, scratch, end),
        }
    }
}

/// Interleaves the columns that a piece reads: `[groups of four rows][columns][V]` lines.
///
/// # Safety
/// The machine must have AVX-512.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn fill<const V: usize>(piece: &Piece<'_>, scratch: &mut Vec<Line>) {
    let (groups, columns) = (piece.groups(), piece.columns());
    scratch.resize(groups * columns * V, Line([0; 64]));
    for (group, to) in scratch.chunks_exact_mut(columns * V).enumerate() {
        let Quad {
            rows: elements,
            inside: Range {
                start: left,
                end: right,
            },
            used,
            whole,
        } = piece.quad(group);
        let (four, padding) = (used == 4, [(piece.padding(), 0); 4]);
        let stride = piece.weights.stride;
        let flip = piece.weights.flip();
        // If a position has exactly as many channels as the vectors, positions follow each other without gaps, and as many
        // as fit in a register are interleaved at once.
        let together = 4 / V;
        let whole = whole && together > 1 && stride == 16 * V;
        let many = if whole { (right - left) / together } else { 0 };
        let inside = left + many * together;
        let (to, _) = to.as_chunks_mut::<V>();
        // SAFETY: the caller guarantees the instruction set. Each row has the channels of all columns from the first to the
        // last that is inside of the image.
        unsafe {
            if many > 0 {
                let steps = elements.map(|(row, step)| (row, step * together));
                let (to, _) = to[left..inside].as_flattened_mut().as_chunks_mut::<4>();
                interleave_all::<4>(CHANNELS, flip, four, steps, to);
            }
            let rest = elements.map(|(row, step)| (&row[step * (inside - left)..], step));
            interleave_all::<V>(piece.channels, flip, four, padding, &mut to[..left]);
            interleave_all::<V>(piece.channels, flip, four, rest, &mut to[inside..right]);
            interleave_all::<V>(piece.channels, flip, four, padding, &mut to[right..]);
        }
    }
}

/// Interleaves the elements of four rows for one line after the other. For line `i`, the elements of a row start at `i` times
/// its step. If `four` is false, the fourth row is not read.
///
/// # Safety
/// The machine must have AVX-512.
#[inline(always)]
unsafe fn interleave_all<const V: usize>(
    channels: usize,
    flip: u8,
    four: bool,
    rows: [(&[u8], usize); 4],
    to: &mut [[Line; V]],
) {
    let Some(last) = to.len().checked_sub(1) else {
        return;
    };
    for (row, step) in rows {
        assert!(row.len() >= last * step + channels, "a row with all channels");
    }
    let mut at = rows.map(|(row, _)| row.as_ptr());
    // SAFETY: each row has all channels up to the last line, as was checked. The caller guarantees the instruction set.
    unsafe {
        for to in to {
            match four {
                true => interleave::<V, true>(channels, flip, at, to),
                false => interleave::<V, false>(channels, flip, at, to),
            }
            for (at, (_, step)) in at.iter_mut().zip(rows) {
                *at = at.wrapping_add(step);
            }
        }
    }
}

/// Computes the accumulators of a piece with `V` vectors of sixteen channels and `R` rows.
///
/// # Safety
/// The machine must have AVX-512 with VNNI.
#[inline(always)]
unsafe fn sums<const V: usize, const R: usize>(piece: &Piece<'_>, scratch: &mut Vec<Line>, end: &mut impl End) {
    // SAFETY: the caller guarantees the instruction set. A function with a `match` over the number of outputs would need the
    // product of constants as a constant.
    unsafe {
        fill::<V>(piece, scratch);
        match TOGETHER / (V * R) {
            2 | 3 => run::<V, R, 2>(piece, scratch, end),
            _ => run::<V, R, OUTPUTS>(piece, scratch, end),
        }
    }
}

/// Computes the accumulators of a piece from the interleaved columns, `T` neighbouring outputs at a time.
///
/// # Safety
/// The machine must have AVX-512 with VNNI, and the scratch must be that of [`fill`].
#[inline(always)]
unsafe fn run<const V: usize, const R: usize, const T: usize>(piece: &Piece<'_>, scratch: &[Line], end: &mut impl End) {
    let window = piece.weights.conv.window;
    let (width, step, dilation) = (window.kernel[1], window.stride[1], window.dilation[1]);
    let columns = piece.columns();
    let groups = scratch.len() / (columns * V);
    let mut weights: [&[Line]; R] = [&[]; R];
    for r in 0..R {
        weights[r] = &piece.packed.lines[r][piece.channel / CHANNELS * groups * width * 4..][..groups * width * 4];
    }
    let starts = &piece.weights.starts[piece.channel..][..16 * V];
    let mut x = 0;
    while x < piece.positions {
        let count = T.min(piece.positions - x);
        // SAFETY: the caller guarantees the instruction set. A line is read for each column of the scratch that an output
        // of the piece reads; beyond the last output, the last one is computed again. The weights have four lines for each
        // group and column of the kernel.
        unsafe {
            let mut acc = [[[_mm512_setzero_si512(); V]; T]; R];
            for v in 0..V {
                let start = _mm512_loadu_si512(starts.as_ptr().add(16 * v).cast());
                for r in 0..R {
                    for t in 0..T {
                        acc[r][t][v] = start;
                    }
                }
            }
            for group in 0..groups {
                for kx in 0..width {
                    let from = scratch.as_ptr().add((group * columns + x * step + kx * dilation) * V);
                    for v in 0..V {
                        for r in 0..R {
                            let weight = weights[r].as_ptr().add((group * width + kx) * 4 + v);
                            let weight = _mm512_load_si512(weight.cast());
                            for t in 0..T {
                                let from = from.add(t.min(count - 1) * step * V + v);
                                let elements = _mm512_load_si512(from.cast());
                                acc[r][t][v] = _mm512_dpbusd_epi32(acc[r][t][v], elements, weight);
                            }
                        }
                    }
                }
            }
            // The outputs are spelled out: the compiler would leave a loop as it is, and move the sums to memory.
            macro_rules! take {
                ($($r:literal $t:literal)*) => {
                    $(if $r < R && $t < T && $t < count {
                        end.take($r, x + $t, acc[$r][$t]);
                    })*
                };
            }
            take!(0 0 0 1 0 2 0 3 1 0 1 1 1 2 1 3);
        }
        x += count;
    }
}

/// Interleaves the elements of four rows, XOR `flip`: byte `4·i + j` of line `l` is channel `16·l + i` of row `j`.
///
/// # Safety
/// The machine must have AVX-512, and `channels` elements of each row must be readable.
#[inline(always)]
unsafe fn interleave<const V: usize, const FOUR: bool>(
    channels: usize,
    flip: u8,
    [a, b, c, d]: [*const u8; 4],
    to: &mut [Line; V],
) {
    // SAFETY: lanes outside of the mask are not read, and stores have the 64 bytes of a line. The caller guarantees the
    // instruction set and the elements.
    unsafe {
        let mask = if channels >= 64 { u64::MAX } else { (1 << channels) - 1 };
        // Unpacking works on each quarter of a register separately. With groups of four channels in this order, its
        // results have the channels in their own order.
        let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        let flip = _mm512_set1_epi8(flip.cast_signed());
        macro_rules! row {
            ($row:ident) => {
                _mm512_permutexvar_epi32(order, _mm512_maskz_loadu_epi8(mask, $row.cast()))
            };
        }
        let (a, b, c) = (row!(a), row!(b), row!(c));
        // Kernels of three rows are the most frequent. The fourth is then multiplied by weights of 0.
        let d = if FOUR { row!(d) } else { c };
        let (ab, cd) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
        let mut lines = [_mm512_unpacklo_epi16(ab, cd), _mm512_unpackhi_epi16(ab, cd), ab, cd];
        if V > 2 {
            let (ab, cd) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
            lines[2] = _mm512_unpacklo_epi16(ab, cd);
            lines[3] = _mm512_unpackhi_epi16(ab, cd);
        }
        for v in 0..V {
            _mm512_store_si512(to[v].0.as_mut_ptr().cast(), _mm512_xor_si512(lines[v], flip));
        }
    }
}
