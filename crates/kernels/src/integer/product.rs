//! The register tile of integer products, for both orientations.
//!
//! One operand is rows of bytes, `k` contiguous; four bytes at a time are broadcast. The other is packed into panels of
//! sixteen columns, `[k/4][16][4]`. An image's positions are the columns of its panels (weights are the rows), so that
//! results are sixteen positions of one channel; of a matrix the constant weights are the panels, so that they are
//! sixteen channels of one row. Either way sixteen results are neighbours in memory.
//!
//! `vpdpbusd` wants one operand unsigned: activations, as `i8 + 128` or `u8`. What the 128 adds is in the starts.

use super::finish::{Finish, Place};
use crate::{
    error::KernelError,
    isa::{Context, Job},
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
    pub(crate) factors: Factors<'a>,
    /// Destination of the results. Its columns are those of the panels, but for the last one's that are beyond the
    /// output.
    pub(crate) place: Place<'a>,
}

/// The operands of a product.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    /// `depth` bytes for each row.
    pub(crate) rows: &'a [u8],
    /// `16·depth` bytes for each panel.
    pub(crate) panels: &'a [u8],
    /// A multiple of four.
    pub(crate) depth: usize,
    /// Values at which the sums of each row start.
    pub(crate) row_starts: &'a [i32],
    /// Added to the starts in each column, sixteen for each panel.
    pub(crate) column_starts: &'a [i32],
}

/// Rows and panels of the largest register tile.
const ROWS: usize = 8;
const PANELS: usize = 3;
/// The most columns of a strip.
pub(crate) const STRIP: usize = 240;

/// The accumulators of a few rows of a strip: 7.5 KB that do not leave the first-level cache. The loops over K are
/// compiled once for all epilogues, and an epilogue's loop over a whole row is one that vectorises well.
type Sums = [[i32; STRIP]; ROWS];

impl Strip<'_> {
    /// Computes the strip: a few rows of all panels, then the next rows. The panels are the unsigned operand if
    /// `IMAGE`, else the rows are.
    #[inline(always)]
    pub(crate) fn run<S: Simd, const IMAGE: bool>(&self, finish: &dyn Finish) -> Result<(), KernelError> {
        let mut sums: Sums = [[0; STRIP]; ROWS];
        let panels = self.place.columns.div_ceil(COLUMNS);
        let mut row = 0;
        while row < self.place.rows {
            let left = self.place.rows - row;
            let height = [8, 4, 2, 1]
                .into_iter()
                .find(|&h| h <= left && h <= S::Dots::ROWS)
                .unwrap_or(1);
            let mut panel = 0;
            while panel < panels {
                let wide = if S::Dots::WIDE && panels - panel >= PANELS {
                    PANELS
                } else {
                    1
                };
                let tile = Tile {
                    factors: self.factors,
                    row,
                    panel,
                    sums: &mut sums,
                };
                // SAFETY: this is compiled for `S`.
                unsafe {
                    match (height, wide) {
                        (8, PANELS) => S::call(TileJob::<8, PANELS, IMAGE>(tile)),
                        (8, _) => S::call(TileJob::<8, 1, IMAGE>(tile)),
                        (4, PANELS) => S::call(TileJob::<4, PANELS, IMAGE>(tile)),
                        (4, _) => S::call(TileJob::<4, 1, IMAGE>(tile)),
                        (2, PANELS) => S::call(TileJob::<2, PANELS, IMAGE>(tile)),
                        (2, _) => S::call(TileJob::<2, 1, IMAGE>(tile)),
                        (_, PANELS) => S::call(TileJob::<1, PANELS, IMAGE>(tile)),
                        (_, _) => S::call(TileJob::<1, 1, IMAGE>(tile)),
                    }
                }
                panel += wide;
            }
            // SAFETY: this is compiled for `S`.
            let cx = unsafe { Context::of::<S>() };
            finish.finish(cx, sums.as_flattened(), STRIP, &self.place.rows(row, height))?;
            row += height;
        }
        Ok(())
    }
}

/// A register tile, from a row and a panel of its strip on.
struct Tile<'a> {
    factors: Factors<'a>,
    row: usize,
    panel: usize,
    sums: &'a mut Sums,
}

/// Computes `HEIGHT` rows times `WIDTH` panels.
struct TileJob<'a, const HEIGHT: usize, const WIDTH: usize, const PANEL_UNSIGNED: bool>(Tile<'a>);

impl<const HEIGHT: usize, const WIDTH: usize, const PANEL_UNSIGNED: bool> Job
    for TileJob<'_, HEIGHT, WIDTH, PANEL_UNSIGNED>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Tile {
            factors,
            row: first_row,
            panel: first_panel,
            sums: to,
        } = self.0;
        let Factors {
            rows,
            panels,
            depth,
            row_starts,
            column_starts,
        } = factors;
        let mut row_fours: [&[[u8; 4]]; HEIGHT] = [&[]; HEIGHT];
        for (r, fours) in row_fours.iter_mut().enumerate() {
            let row = first_row + r;
            *fours = rows[row * depth..(row + 1) * depth].as_chunks().0;
        }
        let mut panel_rows: [&[[u8; 64]]; WIDTH] = [&[]; WIDTH];
        for (p, rows) in panel_rows.iter_mut().enumerate() {
            let (panel, bytes) = (first_panel + p, COLUMNS * depth);
            *rows = panels[panel * bytes..(panel + 1) * bytes].as_chunks().0;
        }
        let (columns, _) = column_starts[first_panel * COLUMNS..].as_chunks::<COLUMNS>();
        // SAFETY: this is compiled for `S`.
        let mut sums = unsafe { [[S::Dots::new(0, &[0; COLUMNS]); WIDTH]; HEIGHT] };
        for r in 0..HEIGHT {
            for p in 0..WIDTH {
                // SAFETY: as above.
                sums[r][p] = unsafe { S::Dots::new(row_starts[first_row + r], &columns[p]) };
            }
        }
        for k in 0..depth / 4 {
            // SAFETY: `k` is inside each slice: they have `depth / 4` entries; this is compiled for `S`.
            unsafe {
                for r in 0..HEIGHT {
                    let four = *row_fours[r].get_unchecked(k);
                    for p in 0..WIDTH {
                        sums[r][p] = sums[r][p].add_dots::<PANEL_UNSIGNED>(panel_rows[p].get_unchecked(k), four);
                    }
                }
            }
        }
        for (row, sums) in to.iter_mut().zip(sums) {
            let (columns, _) = row[first_panel * COLUMNS..].as_chunks_mut::<COLUMNS>();
            for (to, from) in columns.iter_mut().zip(sums) {
                *to = from.to_array();
            }
        }
    }
}
