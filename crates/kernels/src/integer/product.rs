//! The register tile of integer products, for both orientations.
//!
//! One operand is rows, `k` contiguous; four bytes at a time are broadcast. The other is packed into panels of sixteen
//! columns, `[k/lanes][16][lanes]`, where four bytes are four elements of 8 bits or two of 16. An image's positions are the
//! columns of its panels (weights are the rows), so that results are sixteen positions of one channel; of a matrix the
//! constant weights are the panels, so that they are sixteen channels of one row. Either way sixteen results are neighbours
//! in memory.
//!
//! `vpdpbusd` wants one operand unsigned: activations, as `i8 + 128` or `u8`. `vpdpwssd` wants both signed: activations of
//! `u16` are read as `u16 − 2^15`. What that adds or takes away is in the starts.

use super::{
    finish::{Finish, OutputTile, narrow},
    sums::{Carrier, Sums},
};
use crate::{
    error::KernelError,
    isa::{Context, Job},
    simd::{Dots, Simd},
};
use std::{marker::PhantomData, ops::Range};

/// Columns of a panel.
pub(crate) const COLUMNS: usize = 16;

/// Some rows times some panels.
pub(crate) struct Strip<'a> {
    /// The planes of the operands; one where sums start narrow.
    pub(crate) factors: &'a [Factors<'a>],
    pub(crate) starts: StripStarts<'a>,
    /// Type that the accumulators have then.
    pub(crate) carrier: Carrier,
    /// Destination of the results. Its columns are those of the panels, but for the last one's that are beyond the
    /// output.
    pub(crate) place: OutputTile<'a>,
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
    /// The products count 2^shift; 0 where sums start narrow.
    pub(crate) shift: u32,
    /// Fours of K whose products are added in 32 bits, where sums do not start narrow.
    pub(crate) step: usize,
}

/// Values at which the sums of each row start, and what is added to them in each column, sixteen for each panel.
#[derive(Clone, Copy)]
pub(crate) enum StripStarts<'a> {
    /// Everything in 32 bits.
    Narrow { rows: &'a [i32], columns: &'a [i32] },
    /// Sums of 32 bits of some products each, added in 64 bits.
    Wide { rows: &'a [i64], columns: &'a [i64] },
}

/// Reading of four bytes of a row and of the sixteen times four of a panel.
pub(crate) trait Products: 'static {
    /// Lane `l` gains the products of `panel[4·l..4·l + 4]` and `four`.
    ///
    /// # Safety
    /// The machine has the instruction set.
    unsafe fn add<D: Dots>(sums: D, panel: &[u8; 64], four: [u8; 4]) -> D;
}

/// Four bytes, the panels' unsigned and the rows' signed, or the other way round.
pub(crate) struct Bytes<const PANEL_UNSIGNED: bool>;

impl<const PANEL_UNSIGNED: bool> Products for Bytes<PANEL_UNSIGNED> {
    #[inline(always)]
    unsafe fn add<D: Dots>(sums: D, panel: &[u8; 64], four: [u8; 4]) -> D {
        // SAFETY: the caller's promise.
        unsafe { sums.add_dots::<PANEL_UNSIGNED>(panel, four) }
    }
}

/// Two signed words.
pub(crate) struct Words;

impl Products for Words {
    #[inline(always)]
    unsafe fn add<D: Dots>(sums: D, panel: &[u8; 64], four: [u8; 4]) -> D {
        // SAFETY: the caller's promise.
        unsafe { sums.add_words(panel, four) }
    }
}

/// Rows and panels of the largest register tile.
const ROWS: usize = 8;
const PANELS: usize = 3;
/// The most columns of a strip.
pub(crate) const STRIP: usize = 240;

/// The accumulators of a few rows of a strip: 7.5 KB that do not leave the first-level cache. The loops over K are
/// compiled once for all epilogues, and an epilogue's loop over a whole row is one that vectorises well.
/// Each vector of them has a cache line of its own.
#[repr(align(64))]
struct Sums32([[i32; STRIP]; ROWS]);

impl Strip<'_> {
    /// Computes the strip: a few rows of all panels, then the next rows.
    #[inline(always)]
    pub(crate) fn run<S: Simd, P: Products>(&self, finish: &dyn Finish) -> Result<(), KernelError> {
        let mut sums = Sums32([[0; STRIP]; ROWS]);
        // Sums of 64 bits of as many rows, where they are wanted.
        let mut wide: Vec<[i64; STRIP]> = match self.starts {
            StripStarts::Narrow { .. } => Vec::new(),
            StripStarts::Wide { .. } => vec![[0; STRIP]; ROWS],
        };
        let used = self.place.columns.next_multiple_of(COLUMNS);
        let mut row = 0;
        while row < self.place.rows {
            let left = self.place.rows - row;
            let height = [8, 4, 2, 1]
                .into_iter()
                .find(|&h| h <= left && h <= S::Dots::ROWS)
                .unwrap_or(1);
            let mut row_starts = [0; ROWS];
            let column_starts = match self.starts {
                StripStarts::Narrow { rows, columns } => {
                    row_starts[..height].copy_from_slice(&rows[row..row + height]);
                    columns
                }
                StripStarts::Wide { .. } => &[0; STRIP],
            };
            for (plane, &factors) in self.factors.iter().enumerate() {
                let fours = factors.depth / 4;
                let step = if wide.is_empty() { fours } else { factors.step };
                let mut from = 0;
                loop {
                    let some = from..fours.min(from + step);
                    let first = (plane, from) == (0, 0);
                    from = some.end;
                    self.tiles::<S, P>(factors, some, row, height, (&row_starts, column_starts), &mut sums);
                    for (r, (to, from)) in wide.iter_mut().zip(&sums.0).take(height).enumerate() {
                        let pairs = to[..used].iter_mut().zip(from);
                        match self.starts {
                            StripStarts::Wide { rows, columns, .. } if first => {
                                let start = rows[row + r];
                                for ((to, &sum), &column) in pairs.zip(columns) {
                                    *to = start.wrapping_add(column).wrapping_add(i64::from(sum) << factors.shift);
                                }
                            }
                            _ => {
                                for (to, &sum) in pairs {
                                    *to = to.wrapping_add(i64::from(sum) << factors.shift);
                                }
                            }
                        }
                    }
                    if from == fours {
                        break;
                    }
                }
            }
            // SAFETY: this is compiled for `S`.
            let cx = unsafe { Context::of::<S>() };
            let place = self.place.rows(row, height);
            match (self.starts, self.carrier) {
                (StripStarts::Narrow { .. }, carrier) => {
                    narrow(finish, cx, carrier, sums.0.as_flattened(), STRIP, &place)?;
                }
                (StripStarts::Wide { .. }, Carrier::I64) => {
                    finish.finish(cx, Sums::I64(wide.as_flattened()), STRIP, &place)?;
                }
                (StripStarts::Wide { .. }, Carrier::I32) => {
                    for (to, from) in sums.0.iter_mut().zip(&wide) {
                        // Right modulo 2^32, and the accumulators fit.
                        to.iter_mut().zip(from).for_each(|(to, &sum)| *to = sum as i32);
                    }
                    finish.finish(cx, Sums::I32(sums.0.as_flattened()), STRIP, &place)?;
                }
            }
            row += height;
        }
        Ok(())
    }

    /// The sums of some rows over some fours of K.
    #[inline(always)]
    fn tiles<S: Simd, P: Products>(
        &self,
        factors: Factors<'_>,
        fours: Range<usize>,
        row: usize,
        height: usize,
        (row_starts, column_starts): (&[i32; ROWS], &[i32]),
        sums: &mut Sums32,
    ) {
        let panels = self.place.columns.div_ceil(COLUMNS);
        let mut panel = 0;
        while panel < panels {
            let wide = if S::Dots::WIDE && panels - panel >= PANELS {
                PANELS
            } else {
                1
            };
            let tile = Tile {
                factors,
                fours: fours.clone(),
                row_starts,
                column_starts,
                row,
                panel,
                sums,
            };
            // SAFETY: this is compiled for `S`.
            unsafe {
                match (height, wide) {
                    (8, PANELS) => S::call(TileJob::<8, PANELS, P>(tile, PhantomData)),
                    (8, _) => S::call(TileJob::<8, 1, P>(tile, PhantomData)),
                    (4, PANELS) => S::call(TileJob::<4, PANELS, P>(tile, PhantomData)),
                    (4, _) => S::call(TileJob::<4, 1, P>(tile, PhantomData)),
                    (2, PANELS) => S::call(TileJob::<2, PANELS, P>(tile, PhantomData)),
                    (2, _) => S::call(TileJob::<2, 1, P>(tile, PhantomData)),
                    (_, PANELS) => S::call(TileJob::<1, PANELS, P>(tile, PhantomData)),
                    (_, _) => S::call(TileJob::<1, 1, P>(tile, PhantomData)),
                }
            }
            panel += wide;
        }
    }
}

/// A register tile, from a row and a panel of its strip on.
struct Tile<'a> {
    factors: Factors<'a>,
    fours: Range<usize>,
    /// Of the rows from `row` on.
    row_starts: &'a [i32; ROWS],
    column_starts: &'a [i32],
    row: usize,
    panel: usize,
    sums: &'a mut Sums32,
}

/// Computes `HEIGHT` rows times `WIDTH` panels.
struct TileJob<'a, const HEIGHT: usize, const WIDTH: usize, P>(Tile<'a>, PhantomData<P>);

impl<const HEIGHT: usize, const WIDTH: usize, P: Products> Job for TileJob<'_, HEIGHT, WIDTH, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Tile {
            factors: Factors {
                rows, panels, depth, ..
            },
            fours,
            row_starts,
            column_starts,
            row: first_row,
            panel: first_panel,
            sums: to,
        } = self.0;
        let mut row_fours: [&[[u8; 4]]; HEIGHT] = [&[]; HEIGHT];
        for (r, row) in row_fours.iter_mut().enumerate() {
            let start = (first_row + r) * depth;
            *row = rows[start + 4 * fours.start..start + 4 * fours.end].as_chunks().0;
        }
        let mut panel_rows: [&[[u8; 64]]; WIDTH] = [&[]; WIDTH];
        for (p, panel) in panel_rows.iter_mut().enumerate() {
            let start = (first_panel + p) * COLUMNS * depth;
            *panel = panels[start + 64 * fours.start..start + 64 * fours.end].as_chunks().0;
        }
        // SAFETY: this is compiled for `S`.
        let mut sums = unsafe { [[S::Dots::new(0, &[0; COLUMNS]); WIDTH]; HEIGHT] };
        let (columns, _) = column_starts[first_panel * COLUMNS..].as_chunks::<COLUMNS>();
        for r in 0..HEIGHT {
            for p in 0..WIDTH {
                // SAFETY: as above.
                sums[r][p] = unsafe { S::Dots::new(row_starts[r], &columns[p]) };
            }
        }
        for k in 0..fours.len() {
            // SAFETY: `k` is inside each slice: they have as many entries; this is compiled for `S`.
            unsafe {
                for r in 0..HEIGHT {
                    let four = *row_fours[r].get_unchecked(k);
                    for p in 0..WIDTH {
                        sums[r][p] = P::add(sums[r][p], panel_rows[p].get_unchecked(k), four);
                    }
                }
            }
        }
        for (row, sums) in to.0.iter_mut().zip(sums) {
            let (columns, _) = row[first_panel * COLUMNS..].as_chunks_mut::<COLUMNS>();
            for (to, from) in columns.iter_mut().zip(sums) {
                *to = from.to_array();
            }
        }
    }
}
