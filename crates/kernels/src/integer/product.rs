//! The register tile of integer products. Weights are either the rows or the panels.
//!
//! One operand is stored as rows, in which elements along `k` are contiguous; four bytes at a time are copied to all
//! lanes. The other operand is packed into panels of sixteen columns, `[k/lanes][16][lanes]`, where four bytes hold
//! four elements of 8 bits or two of 16. In a convolution, the columns are output positions and the rows are weights,
//! so sixteen neighbouring results are sixteen positions of one channel. In a matrix product, the columns are the
//! constant weights, so sixteen neighbouring results are sixteen channels of one row. In both cases, the sixteen
//! results are neighbours in memory.
//!
//! The instruction `vpdpbusd` takes one unsigned operand, so activations of `i8` are read as `i8 + 128`. `vpdpwssd`
//! takes two signed operands, so activations of `u16` are read as `u16 − 2^15`. To make up for this, the sums start
//! from other numbers.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array of registers would move them to memory"
)]

#[cfg(target_arch = "x86_64")]
use super::widened::{self, Vectors};
use super::{
    bytes::to_words,
    loops::Loops,
    sums::{Carrier, Sums},
};
use crate::context::Context;
use crate::integer::output_tile::OutputTile;
use crate::isa::Isa;
use crate::simd::Job;
use crate::{
    error::KernelError,
    simd::{Dots, Simd},
};
use std::{marker::PhantomData, ops::Range};

/// Number of columns that a panel has.
pub(crate) const COLUMNS: usize = 16;

/// A product of a few rows with a few panels.
pub(crate) struct Strip<'a> {
    /// The operands in each plane. There is a single plane if `starts` is narrow.
    pub(crate) factors: &'a [Factors<'a>],
    pub(crate) starts: StripStarts<'a>,
    /// The type that accumulators have if `starts` is narrow.
    pub(crate) carrier: Carrier,
    /// Where the results are written. The output has the columns of the panels, but the last panel may have more
    /// columns than the output.
    pub(crate) place: OutputTile<'a>,
}

/// The operands of a product, in one plane.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    /// The rows. Each has `depth` bytes.
    pub(crate) rows: &'a [u8],
    /// The panels. Each has `16·depth` bytes.
    pub(crate) panels: &'a [u8],
    /// Number of bytes that a row or column has along K, a multiple of four.
    pub(crate) depth: usize,
    /// Each product has to be multiplied by 2^shift. The shift is 0 if `starts` is narrow.
    pub(crate) shift: u32,
    /// Number of groups of four bytes along K whose products are added in 32 bits before the sum is widened to 64 bits.
    /// It is not used if `starts` has 32 bits, because sums are then never widened.
    pub(crate) step: usize,
}

impl Factors<'_> {
    /// Writes the elements of some rows as words.
    #[inline(always)]
    fn widen<P: Products>(&self, row: usize, height: usize, words: &mut Vec<i16>) {
        let bytes = &self.rows[row * self.depth..(row + height) * self.depth];
        let elements = if P::BYTES { bytes.len() } else { bytes.len() / 2 };
        words.resize(elements, 0);
        match (P::BYTES, P::PANEL_UNSIGNED) {
            (true, true) => to_words::<true>(bytes, 0, words),
            (true, false) => to_words::<false>(bytes, 0, words),
            (false, _) => {
                let pairs = words.iter_mut().zip(bytes.as_chunks().0);
                pairs.for_each(|(to, &word)| *to = i16::from_ne_bytes(word));
            }
        }
    }
}

/// The numbers that sums start from. Each row and each column has a number, and a sum starts from the number of its row
/// plus the number of its column. There are sixteen column numbers for each panel.
#[derive(Clone, Copy)]
pub(crate) enum StripStarts<'a> {
    /// Everything is added in 32 bits.
    Narrow { rows: &'a [i32], columns: &'a [i32] },
    /// A few products at a time are added in 32 bits, and these sums are added in 64 bits.
    Wide { rows: &'a [i64], columns: &'a [i64] },
}

/// How four bytes of a row are multiplied with sixteen groups of four bytes of a panel.
pub(crate) trait Products: 'static {
    /// The same products on AVX2.
    #[cfg(target_arch = "x86_64")]
    type Vectors: Vectors;
    /// True if rows and panels have elements of 8 bits.
    const BYTES: bool;
    /// True if the elements of the panels are unsigned bytes. The bytes of the rows are then signed.
    const PANEL_UNSIGNED: bool;
    /// Adds the products of `panel[4·l..4·l + 4]` and `four` to lane `l`.
    ///
    /// # Safety
    /// The machine must have the instruction set of `D`.
    unsafe fn add<D: Dots>(sums: D, panel: &[u8; 64], four: [u8; 4]) -> D;
}

/// Products of elements of 8 bits: four bytes are four elements. If `PANEL_UNSIGNED` is true, the elements of the
/// panels are unsigned and those of the rows are signed; otherwise the elements of the panels are signed and those of
/// the rows are unsigned.
pub(crate) struct Bytes<const PANEL_UNSIGNED: bool>;

impl<const PANEL_UNSIGNED: bool> Products for Bytes<PANEL_UNSIGNED> {
    #[cfg(target_arch = "x86_64")]
    type Vectors = widened::Bytes<PANEL_UNSIGNED>;
    const BYTES: bool = true;
    const PANEL_UNSIGNED: bool = PANEL_UNSIGNED;

    #[inline(always)]
    unsafe fn add<D: Dots>(sums: D, panel: &[u8; 64], four: [u8; 4]) -> D {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { sums.add_dots::<PANEL_UNSIGNED>(panel, four) }
    }
}

/// The four bytes are two signed 16-bit words.
pub(crate) struct Words;

impl Products for Words {
    #[cfg(target_arch = "x86_64")]
    type Vectors = widened::Words;
    const BYTES: bool = false;
    const PANEL_UNSIGNED: bool = false;

    #[inline(always)]
    unsafe fn add<D: Dots>(sums: D, panel: &[u8; 64], four: [u8; 4]) -> D {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { sums.add_words(panel, four) }
    }
}

/// Number of rows that the largest register tile has.
const ROWS: usize = 8;
const PANELS: usize = 3;
/// The largest number of columns that a strip may have.
pub(crate) const STRIP: usize = 240;

/// The accumulators of a few rows of a strip. They take 7.5 KB, so they stay in the first-level cache. With this buffer
/// between the loops over K and the epilogue, the loops over K are compiled once for all epilogues, and the epilogue's
/// loop over a whole row vectorises well. The buffer is aligned so that each vector lies in one cache line.
#[repr(align(64))]
struct Sums32([[i32; STRIP]; ROWS]);

impl Strip<'_> {
    /// Computes the strip: first all panels for a few rows, then all panels for the next rows.
    #[inline(always)]
    pub(crate) fn run<S: Simd, P: Products>(&self, loops: &dyn Loops) -> Result<(), KernelError> {
        let mut sums = Sums32([[0; STRIP]; ROWS]);
        // The 64-bit sums of the rows that are being computed. Empty if everything is added in 32 bits.
        let mut wide: Vec<[i64; STRIP]> = match self.starts {
            StripStarts::Narrow { .. } => Vec::new(),
            StripStarts::Wide { .. } => vec![[0; STRIP]; ROWS],
        };
        // The rows that are being computed, widened to words, on instruction sets whose products need it.
        let mut words = Vec::new();
        let used = self.place.columns.next_multiple_of(COLUMNS);
        let mut row = 0;
        while row < self.place.rows {
            let left = self.place.rows - row;
            let height = match S::ISA {
                Isa::Avx2 => left.min(S::Dots::ROWS),
                _ => [8, 4, 2, 1]
                    .into_iter()
                    .find(|&h| h <= left && h <= S::Dots::ROWS)
                    .unwrap_or(1),
            };
            let mut row_starts = [0; ROWS];
            let column_starts = match self.starts {
                StripStarts::Narrow { rows, columns } => {
                    row_starts[..height].copy_from_slice(&rows[row..row + height]);
                    columns
                }
                StripStarts::Wide { .. } => &[0; STRIP],
            };
            for (plane, &factors) in self.factors.iter().enumerate() {
                if S::ISA == Isa::Avx2 {
                    factors.widen::<P>(row, height, &mut words);
                }
                let fours = factors.depth / 4;
                let step = if wide.is_empty() { fours } else { factors.step };
                let mut from = 0;
                loop {
                    let some = from..fours.min(from + step);
                    let first = (plane, from) == (0, 0);
                    from = some.end;
                    let starts = (&row_starts, column_starts);
                    match S::ISA {
                        #[cfg(target_arch = "x86_64")]
                        Isa::Avx2 => self.widened::<S, P>(factors, &words, some, height, starts, &mut sums),
                        _ => self.tiles::<S, P>(factors, some, row, height, starts, &mut sums),
                    }
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
            // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`.
            let cx = unsafe { Context::of::<S>() };
            let place = self.place.rows(row, height);
            match (self.starts, self.carrier) {
                (StripStarts::Narrow { .. }, carrier) => {
                    loops.finish_narrow(cx, carrier, sums.0.as_flattened(), STRIP, &place)?;
                }
                (StripStarts::Wide { .. }, Carrier::I64) => {
                    loops.finish(cx, Sums::I64(wide.as_flattened()), STRIP, &place)?;
                }
                (StripStarts::Wide { .. }, Carrier::I32) => {
                    for (to, from) in sums.0.iter_mut().zip(&wide) {
                        // The accumulators fit in 32 bits, so it does not matter that the conversion wraps.
                        to.iter_mut().zip(from).for_each(|(to, &sum)| *to = sum as i32);
                    }
                    loops.finish(cx, Sums::I32(sums.0.as_flattened()), STRIP, &place)?;
                }
            }
            row += height;
        }
        Ok(())
    }

    /// Computes the sums of some rows over a part of K, on AVX2. `words` are the elements of these rows.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn widened<S: Simd, P: Products>(
        &self,
        factors: Factors<'_>,
        words: &[i16],
        fours: Range<usize>,
        height: usize,
        (row_starts, column_starts): (&[i32; ROWS], &[i32]),
        sums: &mut Sums32,
    ) {
        let (width, group) = (<P::Vectors as Vectors>::WIDTH, <P::Vectors as Vectors>::GROUP);
        let pitch = factors.depth / 4 * group;
        for column in (0..self.place.columns).step_by(width) {
            let panel = &factors.panels[column / COLUMNS * COLUMNS * factors.depth..][..COLUMNS * factors.depth];
            let panel = &panel[64 * fours.start..64 * fours.end];
            let factors = widened::Factors {
                rows: words[..height * pitch].as_ptr().wrapping_add(fours.start * group),
                pitch,
                panel: panel.as_ptr().wrapping_add(column % COLUMNS * 4),
                step: 4 * COLUMNS,
                starts: Some(&column_starts[column..]),
            };
            // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`. The rows have `pitch` words
            // each, and the panel has a group for each of `fours`.
            unsafe {
                let to = &mut sums.0.as_flattened_mut()[column..];
                factors.multiply::<S, P::Vectors>(0..fours.len(), height, row_starts, (to, STRIP));
            }
        }
    }

    /// Computes the sums of some rows over a part of K, which is counted in groups of four bytes.
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
            // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`.
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

/// A register tile that starts at some row and panel of a strip.
struct Tile<'a> {
    factors: Factors<'a>,
    fours: Range<usize>,
    /// The numbers that the sums of each row start from, beginning with the row `row`.
    row_starts: &'a [i32; ROWS],
    column_starts: &'a [i32],
    row: usize,
    panel: usize,
    sums: &'a mut Sums32,
}

/// A job that computes a register tile of `HEIGHT` rows times `WIDTH` panels.
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
        // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`.
        let mut sums = unsafe { [[S::Dots::new(0, &[0; COLUMNS]); WIDTH]; HEIGHT] };
        let (columns, _) = column_starts[first_panel * COLUMNS..].as_chunks::<COLUMNS>();
        for r in 0..HEIGHT {
            for p in 0..WIDTH {
                // SAFETY: as above, the machine has the instruction set `S`.
                sums[r][p] = unsafe { S::Dots::new(row_starts[r], &columns[p]) };
            }
        }
        for k in 0..fours.len() {
            // SAFETY: all these slices have the same length, and `k` is below it. This code is compiled for `S`, and it
            // only runs on machines that have `S`.
            unsafe {
                for r in 0..HEIGHT {
                    let four = *row_fours[r].get_unchecked(k);
                    for p in 0..WIDTH {
                        sums[r][p] = P::add(sums[r][p], panel_rows[p].get_unchecked(k), four);
                    }
                }
            }
        }
        // Loops over indices: an iterator over an array of registers would move them to memory.
        for r in 0..HEIGHT {
            let (columns, _) = to.0[r][first_panel * COLUMNS..].as_chunks_mut::<COLUMNS>();
            for p in 0..WIDTH {
                columns[p] = sums[r][p].to_array();
            }
        }
    }
}
