//! The register tile of integer products, for both orientations.
//!
//! One operand is rows of bytes, `k` contiguous; four bytes at a time are broadcast. The other is packed into panels of
//! sixteen columns, `[k/4][16][4]`. An image's positions are the columns of its panels (weights are the rows), so that
//! results are sixteen positions of one channel; of a matrix the constant weights are the panels, so that they are sixteen
//! channels of one row. Either way sixteen results are neighbours in memory.
//!
//! `vpdpbusd` wants one operand unsigned: activations, as `i8 + 128` or `u8`. What the 128 adds is in the starts.

use super::finish::{Finish, Place};
use crate::{
    error::KernelError,
    simd::{Dots, Simd},
};

/// Columns of a panel.
pub(crate) const COLUMNS: usize = 16;

/// Bytes of K of a packed operand: a multiple of four. Bytes beyond K are 0 in at least one of the operands.
pub(crate) fn padded_depth(k: usize) -> usize {
    k.next_multiple_of(4)
}

/// Some rows times some panels.
pub(crate) struct Strip<'a> {
    /// `depth` bytes for each row.
    pub(crate) rows: &'a [u8],
    /// `16·depth` bytes for each panel.
    pub(crate) panels: &'a [u8],
    /// A multiple of four.
    pub(crate) depth: usize,
    /// Where the sums of each row start.
    pub(crate) row_starts: &'a [i32],
    /// Added to the starts in each column, sixteen for each panel.
    pub(crate) column_starts: &'a [i32],
    /// Where results go. Its columns are those of the panels, but for the last one's that are beyond the output.
    pub(crate) place: Place<'a>,
}

/// Panels of a tile, and rows of the widest one: as many accumulators as fit in registers beside one panel row.
const WIDE: usize = 3;

impl Strip<'_> {
    /// Computes the strip, tile by tile: all panels for a few rows, then the next rows.
    #[inline(always)]
    pub(crate) fn run<S: Simd, F: Finish, const PANEL_UNSIGNED: bool>(&self, finish: &F) -> Result<(), KernelError> {
        let panels = self.place.columns.div_ceil(COLUMNS);
        let mut scratch = F::Scratch::default();
        let mut row = 0;
        while row < self.place.rows {
            let left = self.place.rows - row;
            let height = [8, 4, 1]
                .into_iter()
                .find(|&h| h <= left && h <= S::Dots::ROWS)
                .unwrap_or(1);
            let place = self.place.rows(row, height);
            let mut panel = 0;
            while panel < panels {
                let wide = S::Dots::WIDE && panels - panel >= WIDE;
                match (height, wide) {
                    (8, true) => self.tile::<S, F, 8, WIDE, PANEL_UNSIGNED>(finish, &mut scratch, &place, row, panel),
                    (8, false) => self.tile::<S, F, 8, 1, PANEL_UNSIGNED>(finish, &mut scratch, &place, row, panel),
                    (4, true) => self.tile::<S, F, 4, WIDE, PANEL_UNSIGNED>(finish, &mut scratch, &place, row, panel),
                    (4, false) => self.tile::<S, F, 4, 1, PANEL_UNSIGNED>(finish, &mut scratch, &place, row, panel),
                    (_, true) => self.tile::<S, F, 1, WIDE, PANEL_UNSIGNED>(finish, &mut scratch, &place, row, panel),
                    (_, false) => self.tile::<S, F, 1, 1, PANEL_UNSIGNED>(finish, &mut scratch, &place, row, panel),
                }
                panel += if wide { WIDE } else { 1 };
            }
            finish.end(&mut scratch, &place)?;
            row += height;
        }
        Ok(())
    }

    /// `ROWS` rows from `row` times `PANELS` panels from `panel`; row 0 of `place` is row `row`.
    #[inline(always)]
    fn tile<S: Simd, F: Finish, const ROWS: usize, const PANELS: usize, const PANEL_UNSIGNED: bool>(
        &self,
        finish: &F,
        scratch: &mut F::Scratch,
        place: &Place<'_>,
        row: usize,
        panel: usize,
    ) {
        let depth = self.depth;
        let rows: [&[[u8; 4]]; ROWS] =
            std::array::from_fn(|r| self.rows[(row + r) * depth..(row + r + 1) * depth].as_chunks::<4>().0);
        let panels: [&[[u8; 64]]; PANELS] = std::array::from_fn(|p| {
            self.panels[(panel + p) * COLUMNS * depth..(panel + p + 1) * COLUMNS * depth]
                .as_chunks::<64>()
                .0
        });
        let mut sums: [[S::Dots; PANELS]; ROWS] = std::array::from_fn(|r| {
            std::array::from_fn(|p| {
                let columns = &self.column_starts[(panel + p) * COLUMNS..(panel + p + 1) * COLUMNS];
                let start = self.row_starts[row + r];
                S::Dots::from_array(std::array::from_fn(|l| start.wrapping_add(columns[l])))
            })
        });
        for k in 0..depth / 4 {
            // SAFETY: `k` is inside each slice: they have `depth / 4` entries; this code runs only on machines that have `S`.
            unsafe {
                for r in 0..ROWS {
                    let four = *rows[r].get_unchecked(k);
                    for p in 0..PANELS {
                        sums[r][p] = sums[r][p].add_dots::<PANEL_UNSIGNED>(panels[p].get_unchecked(k), four);
                    }
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for (p, sums) in sums.into_iter().enumerate() {
                finish.vector(scratch, place, r, (panel + p) * COLUMNS, sums.to_array());
            }
        }
    }
}

/// Interleaves four lines of sixteen bytes into one row of a panel: byte `4·l + j` is byte `l` of line `j`.
#[inline(always)]
pub(crate) fn interleave(lines: [&[u8; 16]; 4], flip: u8) -> [u8; 64] {
    let mut row = [0; 64];
    for l in 0..16 {
        for j in 0..4 {
            row[4 * l + j] = lines[j][l] ^ flip;
        }
    }
    row
}
