//! Register tiles of products on AVX2. Bytes are widened to words of 16 bits.
//!
//! The sums of `vpmaddubsw`, the product of bytes of AVX2, saturate. Where weights do not prove that they cannot
//! ([`by_bytes`](super::by_bytes)), bytes are widened, and `vpmaddwd` adds the products of two neighbouring words. The bytes
//! of a row are widened once, before all products that read them. Those of a panel are widened when they are loaded, for all
//! rows of a tile.
//!
//! A tile has six rows and two vectors of a panel. This takes all sixteen registers: twelve for accumulators, two for the
//! panel, one for the words of a row, and one for products.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array of registers would move them to memory"
)]

use crate::simd::{Job, Simd, in_order, prefetch};
use std::{arch::x86_64::*, marker::PhantomData};

/// The largest number of rows of a tile.
pub(crate) const ROWS: usize = 6;

/// How two vectors of a panel are multiplied with a row.
pub(crate) trait Vectors: 'static {
    /// Number of columns of a tile.
    const WIDTH: usize;
    /// Number of elements of a row that are multiplied at once.
    const GROUP: usize;

    /// Loads the columns of a tile from a group of a panel. `at` is the address of the group's first byte of the tile.
    ///
    /// # Safety
    /// The machine must have AVX2, and the columns must be readable.
    unsafe fn columns(at: *const u8) -> [__m256i; 2];

    /// Loads a group of words of a row, in all places where columns have the group.
    ///
    /// # Safety
    /// The machine must have AVX2, and the group must be readable.
    unsafe fn row(at: *const i16) -> __m256i;

    /// Adds the numbers `starts` to the sums of a row, and stores them.
    ///
    /// # Safety
    /// The machine must have AVX2, `WIDTH` numbers must be readable at `starts` and writable at `to`.
    unsafe fn store(sums: [__m256i; 2], starts: *const i32, row_start: i32, to: *mut i32);
}

/// Groups of four bytes. A vector has the groups of four columns, and two neighbouring sums belong to each column. The elements
/// of the panel are unsigned if `UNSIGNED` is true, otherwise they are signed.
pub(crate) struct Bytes<const UNSIGNED: bool>;

impl<const UNSIGNED: bool> Vectors for Bytes<UNSIGNED> {
    const WIDTH: usize = 8;
    const GROUP: usize = 4;

    #[inline(always)]
    unsafe fn columns(at: *const u8) -> [__m256i; 2] {
        // SAFETY: the caller guarantees the instruction set and that the columns, which have 32 bytes, are readable.
        unsafe {
            let [front, back] = [at, at.add(16)].map(|at| _mm_loadu_si128(at.cast()));
            match UNSIGNED {
                true => [_mm256_cvtepu8_epi16(front), _mm256_cvtepu8_epi16(back)],
                false => [_mm256_cvtepi8_epi16(front), _mm256_cvtepi8_epi16(back)],
            }
        }
    }

    #[inline(always)]
    unsafe fn row(at: *const i16) -> __m256i {
        // SAFETY: the caller guarantees the instruction set and that the four words are readable.
        unsafe { _mm256_set1_epi64x(at.cast::<i64>().read_unaligned()) }
    }

    #[inline(always)]
    unsafe fn store([front, back]: [__m256i; 2], starts: *const i32, row_start: i32, to: *mut i32) {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            // `vphaddd` works on each half of a register separately, so the two middle quarters have to be swapped.
            let sums = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_hadd_epi32(front, back));
            store(sums, starts, row_start, to);
        }
    }
}

/// Groups of two words. A vector has the groups of eight columns.
pub(crate) struct Words;

impl Vectors for Words {
    const WIDTH: usize = 16;
    const GROUP: usize = 2;

    #[inline(always)]
    unsafe fn columns(at: *const u8) -> [__m256i; 2] {
        // SAFETY: the caller guarantees the instruction set and that the columns, which have 64 bytes, are readable.
        unsafe { [at, at.add(32)].map(|at| _mm256_loadu_si256(at.cast())) }
    }

    #[inline(always)]
    unsafe fn row(at: *const i16) -> __m256i {
        // SAFETY: the caller guarantees the instruction set and that the two words are readable.
        unsafe { _mm256_set1_epi32(at.cast::<i32>().read_unaligned()) }
    }

    #[inline(always)]
    unsafe fn store(sums: [__m256i; 2], starts: *const i32, row_start: i32, to: *mut i32) {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            store(sums[0], starts, row_start, to);
            store(sums[1], starts.add(8), row_start, to.add(8));
        }
    }
}

/// Stores eight sums.
///
/// # Safety
/// The machine must have AVX2, and eight numbers must be readable at `starts` and writable at `to`.
#[inline(always)]
unsafe fn store(sums: __m256i, starts: *const i32, row_start: i32, to: *mut i32) {
    // SAFETY: the caller upholds the safety contract of this function.
    unsafe {
        let starts = _mm256_add_epi32(_mm256_loadu_si256(starts.cast()), _mm256_set1_epi32(row_start));
        _mm256_storeu_si256(to.cast(), _mm256_add_epi32(sums, starts));
    }
}

/// Some rows and a few columns of a panel.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    /// The first element of the first row.
    pub(crate) rows: *const i16,
    /// Number of elements from one row to the next.
    pub(crate) pitch: usize,
    /// The first byte of the columns in the panel, in the first group that is multiplied.
    pub(crate) panel: *const u8,
    /// Number of bytes from one group of the panel to the next.
    pub(crate) step: usize,
    /// The numbers that the sums of the columns start from. `None` if sums are added to those that are already stored.
    pub(crate) starts: Option<&'a [i32]>,
}

impl Factors<'_> {
    /// Computes the sums of some groups along K for `count` rows, and stores them. A sum starts from the number of its column
    /// plus that of its row. The sums of a row are stored `stride` numbers behind those of the row before.
    ///
    /// # Safety
    /// The code must be compiled for `S`, which must be AVX2. The rows and the columns must have the groups.
    #[inline(always)]
    pub(crate) unsafe fn multiply<S: Simd, V: Vectors>(
        self,
        groups: impl ExactSizeIterator<Item = usize> + Clone,
        count: usize,
        row_starts: &[i32],
        (to, stride): (&mut [i32], usize),
    ) {
        let Some(last) = count.checked_sub(1) else {
            return;
        };
        let job = Tiles::<V, _> {
            factors: self,
            groups,
            row_starts: &row_starts[..count],
            to: &mut to[..last * stride + V::WIDTH],
            stride,
            vectors: PhantomData,
        };
        // SAFETY: the caller guarantees the instruction set.
        unsafe { S::call(job) }
    }
}

/// A job that computes all rows. Only [`Factors::multiply`] makes such jobs.
struct Tiles<'a, V, G> {
    factors: Factors<'a>,
    groups: G,
    row_starts: &'a [i32],
    to: &'a mut [i32],
    stride: usize,
    vectors: PhantomData<V>,
}

impl<V: Vectors, G: ExactSizeIterator<Item = usize> + Clone> Job for Tiles<'_, V, G> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self) {
        // Tiles are as even as possible.
        let tiles = self.row_starts.len().div_ceil(ROWS);
        let (least, larger) = (self.row_starts.len() / tiles, self.row_starts.len() % tiles);
        let mut row = 0;
        for index in 0..tiles {
            let height = least + usize::from(index < larger);
            // SAFETY: whoever made the job guarantees AVX2, and that rows and columns are readable.
            unsafe {
                match height {
                    1 => self.tile::<1>(row),
                    2 => self.tile::<2>(row),
                    3 => self.tile::<3>(row),
                    4 => self.tile::<4>(row),
                    5 => self.tile::<5>(row),
                    _ => self.tile::<ROWS>(row),
                }
            }
            row += height;
        }
    }
}

impl<V: Vectors, G: ExactSizeIterator<Item = usize> + Clone> Tiles<'_, V, G> {
    /// Computes `HEIGHT` rows from `first` on.
    ///
    /// # Safety
    /// The machine must have AVX2. The rows and the columns must be readable, and the rows must be rows of the job.
    #[inline(always)]
    unsafe fn tile<const HEIGHT: usize>(&mut self, first: usize) {
        let Factors {
            rows: all,
            pitch,
            panel,
            step,
            starts,
        } = self.factors;
        let starts = starts.map(|starts| starts[..V::WIDTH].as_ptr());
        // The next panel may still be far away in memory. The first tile brings it nearer.
        let ahead = panel.wrapping_add(if first == 0 { step * self.groups.len() } else { 0 });
        // SAFETY: the caller guarantees the instruction set, and that the rows and the columns have the groups. The job has a
        // number for each row, and room for the sums of each row.
        unsafe {
            let mut sums = [[_mm256_setzero_si256(); 2]; HEIGHT];
            let mut rows = [all; HEIGHT];
            for r in 0..HEIGHT {
                rows[r] = all.wrapping_add((first + r) * pitch);
            }
            for (i, k) in self.groups.clone().enumerate() {
                prefetch(ahead.wrapping_add(step * i));
                let columns = V::columns(panel.wrapping_add(step * i));
                for r in 0..HEIGHT {
                    let group = V::row(rows[r].wrapping_add(V::GROUP * k));
                    for c in 0..2 {
                        sums[r][c] = _mm256_add_epi32(sums[r][c], _mm256_madd_epi16(columns[c], group));
                    }
                    in_order();
                }
            }
            for r in 0..HEIGHT {
                let to = self.to.as_mut_ptr().add((first + r) * self.stride);
                match starts {
                    Some(starts) => V::store(sums[r], starts, *self.row_starts.get_unchecked(first + r), to),
                    None => V::store(sums[r], to, 0, to),
                }
            }
        }
    }
}
