//! Dense convolutions on AVX2: the rows of a block, times half a panel at a time.

use super::{BLOCK, Block, COLUMNS, HALF, PANELS, Sums};
use crate::context::Context;
use crate::error::KernelError;
use crate::integer::by_bytes::{self, Groups};
use crate::integer::bytes::{flipped, to_words};
use crate::integer::channels_last::ChannelsLast;
use crate::integer::widened::{self, ROWS};
use crate::simd::Simd;

/// The largest number of bytes that the rows of a block take as words, unless a single tile has more. They stay in the
/// second-level cache.
const MOST: usize = 1 << 19;

/// The number of rows of a register tile, and the largest number of tiles of a block.
pub(super) fn tiles_of_block(weights: &ChannelsLast) -> (usize, usize) {
    let [height, width] = weights.conv.window.kernel;
    let tile = (height * width).saturating_mul(weights.stride).saturating_mul(2 * ROWS);
    (ROWS, (MOST / tile.max(1)).clamp(1, BLOCK / ROWS))
}

/// The elements of all rows of a block: as unsigned bytes if there are groups that are multiplied as bytes, and as words if there
/// are groups that have to be widened.
#[derive(Default)]
pub(super) struct Rows {
    bytes: Vec<u8>,
    words: Vec<i16>,
}

impl Block<'_, '_> {
    /// Computes the block.
    ///
    /// # Safety
    /// The code must be compiled for `S`, which must be AVX2.
    #[inline(always)]
    pub(super) unsafe fn by_halves<S: Simd>(
        &self,
        table: &mut Vec<*const u8>,
        rows: &mut Rows,
        sums: &mut Option<Box<Sums>>,
    ) -> Result<(), KernelError> {
        let ChannelsLast {
            carrier, ref starts, ..
        } = *self.weights;
        let (each, flip) = self.table(table);
        let depth = table.len() / BLOCK * each;
        let groups = self.packed.groups();
        // SAFETY: each address in the table is that of as many bytes as are read at once.
        unsafe { self.write(table, 4 * each, flip, groups, rows) };
        // SAFETY: the caller guarantees the instruction set.
        let cx = unsafe { Context::of::<S>() };
        let sums = sums.get_or_insert_with(|| Box::new(Sums([0; BLOCK * COLUMNS])));
        let (starts, _) = starts.as_chunks::<HALF>();
        let row_starts = &[0; BLOCK][..self.rows];
        let count = self.panels.len().div_ceil(PANELS);
        for part in 0..count {
            let (panels, place) = self.part(part, count);
            for half in 0..place.columns.div_ceil(HALF) {
                let index = 2 * panels.start + half;
                let (to, half, starts) = (&mut sums.0[half * HALF..], groups.half(index), &starts[index]);
                if half.has_bytes() {
                    let factors = by_bytes::Factors {
                        rows: rows.bytes.as_ptr(),
                        pitch: 4 * depth,
                        half,
                        starts,
                    };
                    // SAFETY: the bytes of all rows were written, for all groups. The caller guarantees the instruction set.
                    unsafe { factors.multiply(row_starts, to, COLUMNS) };
                }
                if !half.widened.is_empty() {
                    let factors = widened::Factors {
                        rows: rows.words.as_ptr(),
                        pitch: 4 * depth,
                        panel: half.widened_weights().as_ptr().cast(),
                        step: size_of::<by_bytes::Weights>(),
                        starts: (!half.has_bytes()).then_some(starts),
                    };
                    let groups = half.widened.iter().map(|&group| group as usize);
                    // SAFETY: the words of all rows were written, for all groups, and there are weights for each group that
                    // is multiplied. The caller guarantees the instruction set.
                    unsafe {
                        factors.multiply::<S, widened::Bytes<false>>(groups, self.rows, row_starts, (to, COLUMNS));
                    }
                }
            }
            self.loops.finish_narrow(cx, carrier, &sums.0, COLUMNS, &place)?;
        }
        Ok(())
    }

    /// Writes the elements of all rows. A row has those of all its taps, which are `bytes` neighbours each.
    ///
    /// # Safety
    /// Each address in the table must be that of `bytes` bytes that can be read.
    #[inline(always)]
    unsafe fn write(&self, table: &[*const u8], bytes: usize, flip: u8, groups: &Groups, rows: &mut Rows) {
        if groups.bytes {
            // SAFETY: the caller upholds the safety contract of this method.
            unsafe { self.each_tap(table, bytes, &mut rows.bytes, |from, to| flipped(from, flip, to)) };
        }
        if groups.words {
            // SAFETY: as above.
            unsafe {
                self.each_tap(table, bytes, &mut rows.words, |from, to| {
                    to_words::<false>(from, flip, to);
                });
            };
        }
    }

    /// Calls `write` with the elements that each tap of each row reads, and with the place for them.
    ///
    /// # Safety
    /// Each address in the table must be that of `bytes` bytes that can be read.
    #[inline(always)]
    unsafe fn each_tap<T: Copy + Default>(
        &self,
        table: &[*const u8],
        bytes: usize,
        rows: &mut Vec<T>,
        write: impl Fn(&[u8], &mut [T]),
    ) {
        let taps = table.len() / BLOCK;
        let size = self.rows * taps * bytes;
        if rows.len() < size {
            rows.resize(size, T::default());
        }
        for (row, to) in rows[..size].chunks_exact_mut((taps * bytes).max(1)).enumerate() {
            for (tap, to) in to.chunks_exact_mut(bytes.max(1)).enumerate() {
                // SAFETY: the caller guarantees that these bytes are readable.
                write(
                    unsafe { std::slice::from_raw_parts(table[tap * BLOCK + row], bytes) },
                    to,
                );
            }
        }
    }
}
