//! The register tile of integer products, for weights as rows and for weights as panels.
//!
//! One operand is stored as rows, with `k` contiguous; four bytes at a time are broadcast. The other one is packed into
//! panels of sixteen columns, `[k/lanes][16][lanes]`, where four bytes are four elements of 8 bits or two of 16. In a
//! convolution, the columns are output positions and the rows are weights, so sixteen neighbouring results are sixteen
//! positions of one channel. In a matrix product, the columns are the constant weights, so they are sixteen channels of
//! one row. In both cases the sixteen results are neighbours in memory.
//!
//! `vpdpbusd` needs one operand unsigned, so activations are read as `i8 + 128` or `u8`. `vpdpwssd` needs both signed,
//! so activations of `u16` are read as `u16 − 2^15`. The values that sums start from make up for the difference.

use super::{
    finish::{Finish, narrow},
    sums::{Carrier, Sums},
};
use crate::context::Context;
use crate::integer::output_tile::OutputTile;
use crate::simd::Job;
use crate::{
    error::KernelError,
    simd::{Dots, Simd},
};
use std::{marker::PhantomData, ops::Range};

/// Number of columns of a panel.
pub(crate) const COLUMNS: usize = 16;

/// A product of some rows and some panels.
pub(crate) struct Strip<'a> {
    /// The planes of the operands; only one if `starts` is narrow.
    pub(crate) factors: &'a [Factors<'a>],
    pub(crate) starts: StripStarts<'a>,
    /// The type of the accumulators when `starts` is narrow.
    pub(crate) carrier: Carrier,
    /// Where the results go. The columns of the output are those of the panels; the last panel may have more columns
    /// than the output.
    pub(crate) place: OutputTile<'a>,
}

/// The operands of a product in one plane.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    /// The rows, `depth` bytes each.
    pub(crate) rows: &'a [u8],
    /// The panels, `16·depth` bytes each.
    pub(crate) panels: &'a [u8],
    /// Number of bytes along K, a multiple of four.
    pub(crate) depth: usize,
    /// A product is worth 2^shift; 0 if sums start narrow.
    pub(crate) shift: u32,
    /// Number of groups of four bytes along K whose products are added in 32 bits before the sum is widened. Unused if
    /// sums start narrow.
    pub(crate) step: usize,
}

/// The values that sums start from: one per row, plus one per column, sixteen for each panel.
#[derive(Clone, Copy)]
pub(crate) enum StripStarts<'a> {
    /// Everything is added in 32 bits.
    Narrow { rows: &'a [i32], columns: &'a [i32] },
    /// Products are added in 32 bits a few at a time, and these sums in 64 bits.
    Wide { rows: &'a [i64], columns: &'a [i64] },
}

/// How four bytes of a row are multiplied with sixteen times four bytes of a panel.
pub(crate) trait Products: 'static {
    /// Adds the products of `panel[4·l..4·l + 4]` and `four` to lane `l`.
    ///
    /// # Safety
    /// The machine has the instruction set.
    unsafe fn add<D: Dots>(sums: D, panel: &[u8; 64], four: [u8; 4]) -> D;
}

/// Four bytes each. Either the panels are unsigned and the rows signed, or the other way round.
pub(crate) struct Bytes<const PANEL_UNSIGNED: bool>;

impl<const PANEL_UNSIGNED: bool> Products for Bytes<PANEL_UNSIGNED> {
    #[inline(always)]
    unsafe fn add<D: Dots>(sums: D, panel: &[u8; 64], four: [u8; 4]) -> D {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { sums.add_dots::<PANEL_UNSIGNED>(panel, four) }
    }
}

/// Two signed 16-bit words each.
pub(crate) struct Words;

impl Products for Words {
    #[inline(always)]
    unsafe fn add<D: Dots>(sums: D, panel: &[u8; 64], four: [u8; 4]) -> D {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { sums.add_words(panel, four) }
    }
}

/// Number of rows of the largest register tile.
const ROWS: usize = 8;
const PANELS: usize = 3;
/// The largest number of columns of a strip.
pub(crate) const STRIP: usize = 240;

/// The accumulators of a few rows of a strip: 7.5 KB that stay in the first-level cache. With this buffer, the loops
/// over K are compiled once for all epilogues, and the epilogue's loop over a whole row vectorises well. Each vector
/// has a cache line of its own.
#[repr(align(64))]
struct Sums32([[i32; STRIP]; ROWS]);

impl Strip<'_> {
    /// Computes the strip: a few rows of all panels, then the next rows.
    #[inline(always)]
    pub(crate) fn run<S: Simd, P: Products>(&self, finish: &dyn Finish) -> Result<(), KernelError> {
        let mut sums = Sums32([[0; STRIP]; ROWS]);
        // Sums in 64 bits for the same number of rows, if sums are wide.
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
            // SAFETY: this code is compiled for `S`, so the machine has it.
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
                        // The conversion is right modulo 2^32, and the accumulators fit in 32 bits.
                        to.iter_mut().zip(from).for_each(|(to, &sum)| *to = sum as i32);
                    }
                    finish.finish(cx, Sums::I32(sums.0.as_flattened()), STRIP, &place)?;
                }
            }
            row += height;
        }
        Ok(())
    }

    /// Computes the sums of some rows over a part of K, in groups of four bytes.
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
            // SAFETY: this code is compiled for `S`, so the machine has it.
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

/// A register tile, at some row and panel of a strip.
struct Tile<'a> {
    factors: Factors<'a>,
    fours: Range<usize>,
    /// What the sums start from, beginning with the row `row`.
    row_starts: &'a [i32; ROWS],
    column_starts: &'a [i32],
    row: usize,
    panel: usize,
    sums: &'a mut Sums32,
}

/// A job that computes `HEIGHT` rows times `WIDTH` panels.
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
        // SAFETY: this code is compiled for `S`, so the machine has it.
        let mut sums = unsafe { [[S::Dots::new(0, &[0; COLUMNS]); WIDTH]; HEIGHT] };
        let (columns, _) = column_starts[first_panel * COLUMNS..].as_chunks::<COLUMNS>();
        for r in 0..HEIGHT {
            for p in 0..WIDTH {
                // SAFETY: as above; the machine has the instruction set.
                sums[r][p] = unsafe { S::Dots::new(row_starts[r], &columns[p]) };
            }
        }
        for k in 0..fours.len() {
            // SAFETY: `k` is below the length of each slice, because they all have the same length. This code is
            // compiled for `S`, so the machine has it.
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
