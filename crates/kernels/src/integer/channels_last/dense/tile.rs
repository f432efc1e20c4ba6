//! The register tile of dense convolutions.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array of registers would move them to memory"
)]

use super::{BLOCK, COLUMNS, Line, PANEL, PANELS, Sums};
use crate::simd::{Dots, Job, Simd, prefetch};

/// A register tile: some rows of a block, times some panels.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    /// The addresses of what the taps read, `[taps][BLOCK]`.
    pub(super) table: &'a [*const u8],
    /// The lines of each panel, one panel after the other.
    pub(super) lines: &'a [Line],
    /// The numbers that the sums of the channels start from, beginning with those of the first panel.
    pub(super) starts: &'a [i32],
    /// Number of groups of four input channels.
    pub(super) groups: usize,
    pub(super) flip: u8,
    /// The first row.
    pub(super) row: usize,
    /// Where the lines start that will be read soon. For each line of a panel, one of them is brought nearer.
    pub(super) ahead: *const Line,
}

impl Tile<'_> {
    /// Computes the tile with `height` rows and `panels` panels, and stores its sums.
    ///
    /// # Safety
    /// The machine must have the instruction set `S`. The table must have rows from `row` to `row + height`, the lines must
    /// be those of `panels` panels, and each address in the table must be that of `4·groups` bytes that can be read.
    #[inline(always)]
    pub(super) unsafe fn call<S: Simd>(self, height: usize, panels: usize, sums: &mut Sums) {
        macro_rules! sizes {
            ($($height:literal)*) => {
                match (height, panels) {
                    $(
                        ($height, 1) => S::call(TileJob::<$height, 1>(self, sums)),
                        ($height, 2) => S::call(TileJob::<$height, 2>(self, sums)),
                        ($height, _) => S::call(TileJob::<$height, PANELS>(self, sums)),
                    )*
                    _ => {}
                }
            };
        }
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { sizes!(1 2 3 4 5 6 7 8) }
    }

    /// Computes the sums of `HEIGHT` rows and `WIDTH` panels.
    ///
    /// # Safety
    /// The same as for [`Tile::call`].
    #[inline(always)]
    pub(crate) unsafe fn sums<S: Simd, const HEIGHT: usize, const WIDTH: usize>(&self) -> [[S::Dots; WIDTH]; HEIGHT] {
        let &Tile {
            table,
            lines,
            starts,
            groups,
            flip,
            row,
            mut ahead,
        } = self;
        let depth = lines.len() / WIDTH;
        let (starts, _) = starts.as_chunks::<PANEL>();
        // SAFETY: the caller guarantees the instruction set.
        let mut sums = unsafe { [[S::Dots::new(0, &[0; PANEL]); WIDTH]; HEIGHT] };
        // Loops over indices, here and below: an iterator over an array of registers would move them to memory.
        for r in 0..HEIGHT {
            for p in 0..WIDTH {
                // SAFETY: the caller guarantees the instruction set.
                sums[r][p] = unsafe { S::Dots::new(0, &starts[p]) };
            }
        }
        for (tap, addresses) in table.chunks_exact(BLOCK).enumerate() {
            let mut rows = [std::ptr::null(); HEIGHT];
            rows.copy_from_slice(&addresses[row..row + HEIGHT]);
            let mut panels: [&[Line]; WIDTH] = [&[]; WIDTH];
            for (p, panel) in panels.iter_mut().enumerate() {
                *panel = &lines[p * depth + tap * groups..][..groups];
            }
            for g in 0..groups {
                prefetch(ahead);
                ahead = ahead.wrapping_add(1);
                // SAFETY: each address is that of `4·groups` bytes, and each panel has `groups` lines. The caller guarantees
                // the instruction set.
                unsafe {
                    for r in 0..HEIGHT {
                        let four = rows[r].add(4 * g).cast::<[u8; 4]>().read_unaligned();
                        for p in 0..WIDTH {
                            let line = &panels[p].get_unchecked(g).0;
                            sums[r][p] = sums[r][p].add_codes(line, four, flip);
                        }
                    }
                }
            }
        }
        sums
    }
}

/// A job that computes a register tile of `HEIGHT` rows times `WIDTH` panels and stores its sums. Only [`Tile::call`] makes
/// such jobs.
struct TileJob<'a, const HEIGHT: usize, const WIDTH: usize>(Tile<'a>, &'a mut Sums);

impl<const HEIGHT: usize, const WIDTH: usize> Job for TileJob<'_, HEIGHT, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let TileJob(tile, to) = self;
        // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`. Whoever made the job upholds the
        // rest of the safety contract.
        let sums = unsafe { tile.sums::<S, HEIGHT, WIDTH>() };
        for r in 0..HEIGHT {
            let (columns, _) = to.0[(tile.row + r) * COLUMNS..][..COLUMNS].as_chunks_mut::<PANEL>();
            for p in 0..WIDTH {
                columns[p] = sums[r][p].to_array();
            }
        }
    }
}
