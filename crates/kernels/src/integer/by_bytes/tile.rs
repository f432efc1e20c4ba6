//! The register tile of products of bytes.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array of registers would move them to memory"
)]

use super::groups::{Half, Weights};
use crate::simd::{in_order, prefetch};
use std::arch::x86_64::*;

/// The largest number of rows of a tile. Beside their sums, registers hold two vectors of weights, ones, and two products.
pub(crate) const ROWS: usize = 8;

/// Some rows and the columns of half a panel.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    /// The first byte of the first row. The bytes are unsigned numbers.
    pub(crate) rows: *const u8,
    /// Number of bytes from one row to the next.
    pub(crate) pitch: usize,
    /// The groups of the half panel. Those that have to be widened are not multiplied.
    pub(crate) half: Half<'a>,
    /// The numbers that the sums of the columns start from.
    pub(crate) starts: &'a [i32; 8],
}

impl Factors<'_> {
    /// Computes the sums of a row for each of `row_starts`, and stores them. A sum starts from the number of its column plus that
    /// of its row. The sums of a row are stored `stride` numbers behind those of the row before.
    ///
    /// # Safety
    /// The machine must have AVX2. All groups of each row must be readable.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) unsafe fn multiply(self, row_starts: &[i32], to: &mut [i32], stride: usize) {
        // Tiles are as even as possible.
        let tiles = row_starts.len().div_ceil(ROWS).max(1);
        let (least, larger) = (row_starts.len() / tiles, row_starts.len() % tiles);
        let mut row = 0;
        for index in 0..tiles {
            let height = least + usize::from(index < larger);
            let (row_starts, to) = (&row_starts[row..row + height], &mut to[row * stride..]);
            // SAFETY: the caller upholds the safety contract of this method.
            unsafe {
                match height {
                    0 => {}
                    1 => self.tile::<1>(row, row_starts, to, stride),
                    2 => self.tile::<2>(row, row_starts, to, stride),
                    3 => self.tile::<3>(row, row_starts, to, stride),
                    4 => self.tile::<4>(row, row_starts, to, stride),
                    5 => self.tile::<5>(row, row_starts, to, stride),
                    6 => self.tile::<6>(row, row_starts, to, stride),
                    7 => self.tile::<7>(row, row_starts, to, stride),
                    _ => self.tile::<ROWS>(row, row_starts, to, stride),
                }
            }
            row += height;
        }
    }

    /// Computes `HEIGHT` rows from `first` on.
    ///
    /// # Safety
    /// The same as for [`Factors::multiply`].
    #[target_feature(enable = "avx2,fma")]
    unsafe fn tile<const HEIGHT: usize>(&self, first: usize, row_starts: &[i32], to: &mut [i32], stride: usize) {
        let Factors {
            pitch, half, starts, ..
        } = *self;
        let mut rows = [self.rows; HEIGHT];
        for r in 0..HEIGHT {
            rows[r] = self.rows.wrapping_add((first + r) * pitch);
        }
        let four = |row: *const u8, group: u32| {
            // SAFETY: the caller guarantees that the rows have the group.
            _mm256_set1_epi32(unsafe { row.wrapping_add(4 * group as usize).cast::<i32>().read_unaligned() })
        };
        // The weights of the next half panel may still be far away in memory. The first tile brings them nearer.
        let ahead = if first == 0 { half.weights.len() } else { 0 };
        let load = |weights: &Weights| {
            prefetch((&raw const *weights).wrapping_add(ahead));
            // SAFETY: the weights have 32 bytes, and are aligned to as many.
            unsafe { _mm256_load_si256((&raw const *weights).cast()) }
        };
        let ones = _mm256_set1_epi16(1);
        let mut sums = [_mm256_setzero_si256(); HEIGHT];
        let (together, alone) = half.weights.split_at(2 * half.pairs.len());
        for (&[a, b], [front, back]) in half.pairs.iter().zip(together.as_chunks().0) {
            let (front, back) = (load(front), load(back));
            for r in 0..HEIGHT {
                let x = _mm256_maddubs_epi16(four(rows[r], a), front);
                let y = _mm256_maddubs_epi16(four(rows[r], b), back);
                let both = _mm256_madd_epi16(_mm256_add_epi16(x, y), ones);
                sums[r] = _mm256_add_epi32(sums[r], both);
                in_order();
            }
        }
        for (&group, weights) in half.alone.iter().zip(alone) {
            let weights = load(weights);
            for r in 0..HEIGHT {
                let x = _mm256_maddubs_epi16(four(rows[r], group), weights);
                sums[r] = _mm256_add_epi32(sums[r], _mm256_madd_epi16(x, ones));
                in_order();
            }
        }
        // SAFETY: eight numbers are read. Each row of `to` is checked to have eight numbers, which are written.
        unsafe {
            let starts = _mm256_loadu_si256(starts.as_ptr().cast());
            for r in 0..HEIGHT {
                let to = &mut to[r * stride..][..8];
                let start = _mm256_add_epi32(starts, _mm256_set1_epi32(row_starts[r]));
                _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm256_add_epi32(sums[r], start));
            }
        }
    }
}
