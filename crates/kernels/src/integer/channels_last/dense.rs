//! Dense convolutions as matrix products: a row is an output position, and a panel has sixteen output channels.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array of registers would move them to memory"
)]

use super::{ChannelsLast, Line, PANEL};
use crate::context::Context;
use crate::error::KernelError;
use crate::integer::{
    loops::Loops,
    output_tile::{Axis, OutputTile},
};
use crate::parallel::{Shared, threads, try_for_each};
use crate::simd::{Dots, Job, Simd};
use std::ops::Range;

/// The largest number of output positions of a block. Its sums stay in the first-level cache.
const BLOCK: usize = 56;
/// The largest number of blocks of a task.
const BLOCKS: usize = 16;
/// The largest number of rows and of panels of a register tile.
const ROWS: usize = 8;
const PANELS: usize = 3;
/// Up to this many channels, a whole row of the kernel is read at once.
const FEW: usize = 32;
/// Number of columns of the buffer of sums.
const COLUMNS: usize = PANELS * PANEL;

/// The sums of a block. They are aligned so that each vector lies in one cache line.
#[repr(align(64))]
struct Sums([i32; BLOCK * COLUMNS]);

pub(super) fn run(
    loops: &dyn Loops,
    cx: &Context,
    weights: &ChannelsLast,
    lines: &[Line],
    batch: usize,
    input: &[u8],
    out: &Shared<'_, u8>,
) -> Result<(), KernelError> {
    let positions = weights.positions();
    let image = input.len() / batch;
    let panels = weights.conv.out_channels.div_ceil(PANEL);
    let blocks = positions.div_ceil(BLOCK);
    // If there are too few blocks for the threads, the panels are divided, too.
    let parts = threads().div_ceil(batch * blocks).min(panels.div_ceil(PANELS));
    // A task computes several blocks, so that it needs its tables only once.
    let blocks_each = (batch * blocks / (4 * threads())).clamp(1, BLOCKS);
    let tasks = blocks.div_ceil(blocks_each);
    let steps = (batch * positions * weights.conv.out_channels).saturating_mul(weights.conv.depth()) / 16;
    try_for_each(batch * tasks * parts, steps, &|task| {
        let (b, first, part) = (task / parts / tasks, task / parts % tasks * blocks_each, task % parts);
        cx.run(Blocks {
            loops,
            weights,
            lines,
            image: &input[b * image..(b + 1) * image],
            // Blocks differ by at most one position, so that no tile is much smaller than the others.
            starts: |block| positions * block / blocks,
            blocks: first..blocks.min(first + blocks_each),
            panels: panels * part / parts..panels * (part + 1) / parts,
            out,
            base: b * positions * weights.conv.out_channels,
        })
    })
}

/// A job that computes some panels of the outputs of some blocks. `starts` returns the first position of a block.
struct Blocks<'a, 'b, F> {
    loops: &'a dyn Loops,
    weights: &'a ChannelsLast,
    lines: &'a [Line],
    image: &'a [u8],
    starts: F,
    blocks: Range<usize>,
    panels: Range<usize>,
    out: &'a Shared<'b, u8>,
    /// The index of the image's first output element.
    base: usize,
}

impl<F: Fn(usize) -> usize> Job for Blocks<'_, '_, F> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Result<(), KernelError> {
        let mut room = Room {
            table: Vec::new(),
            copies: Vec::new(),
            sums: Sums([0; BLOCK * COLUMNS]),
        };
        for block in self.blocks {
            let first = (self.starts)(block);
            let block = Block {
                loops: self.loops,
                weights: self.weights,
                lines: self.lines,
                image: self.image,
                first,
                rows: (self.starts)(block + 1) - first,
                panels: self.panels.clone(),
                out: self.out,
                base: self.base,
            };
            block.compute::<S>(&mut room)?;
        }
        Ok(())
    }
}

/// What a task needs for each of its blocks.
struct Room {
    table: Vec<*const u8>,
    copies: Vec<u8>,
    sums: Sums,
}

/// Some panels of the outputs at some positions.
struct Block<'a, 'b> {
    loops: &'a dyn Loops,
    weights: &'a ChannelsLast,
    lines: &'a [Line],
    image: &'a [u8],
    /// The first position, and the number of positions.
    first: usize,
    rows: usize,
    panels: Range<usize>,
    out: &'a Shared<'b, u8>,
    /// The index of the image's first output element.
    base: usize,
}

impl Block<'_, '_> {
    /// The addresses of what each row of the kernel reads, `[kernel height][BLOCK]`. All taps of such a row are neighbours
    /// in memory. Where some of them are in the padding, the row is copied to `copies`.
    fn rows(&self, table: &mut Vec<*const u8>, copies: &mut Vec<u8>) {
        let ChannelsLast {
            conv,
            output,
            stride,
            ref pad,
            ..
        } = *self.weights;
        let (window, [height, width]) = (conv.window, conv.input.size);
        let ([kernel_height, kernel_width], [down, step]) = (window.kernel, window.stride);
        let ([top, left, ..], row_bytes) = (window.pads, kernel_width * stride);
        // Every row of every position has room, so that the addresses stay valid. The first row has only padding.
        copies.resize((kernel_height * BLOCK + 1) * row_bytes, 0);
        let mut copies = copies.chunks_exact_mut(row_bytes);
        let padding = copies.next().map_or(std::ptr::null(), |row| {
            row.chunks_exact_mut(stride).for_each(|to| to.copy_from_slice(pad));
            row.as_ptr()
        });
        table.clear();
        table.resize(kernel_height * BLOCK, padding);
        let (mut y, mut x, mut row) = (self.first / output[1], self.first % output[1], 0);
        while row < self.rows {
            // The positions that are left in this row of the output, and of these the ones whose window is inside.
            let run = (output[1] - x).min(self.rows - row);
            let low = left.saturating_sub(x * step).div_ceil(step).min(run);
            let past = (width + left)
                .checked_sub(kernel_width)
                .map_or(0, |last| last / step + 1);
            let high = past.saturating_sub(x).clamp(low, run);
            for ky in 0..kernel_height {
                let at = (y * down + ky * window.dilation[0]).wrapping_sub(top);
                if at >= height {
                    continue;
                }
                let line = &self.image[at * width * stride..][..width * stride];
                let to = &mut table[ky * BLOCK + row..][..run];
                if low < high {
                    let first = ((x + low) * step - left) * stride;
                    let elements = &line[first..];
                    assert!(
                        elements.len() >= (high - low - 1) * step * stride + row_bytes,
                        "a row outside its image"
                    );
                    for (i, to) in to[low..high].iter_mut().enumerate() {
                        *to = elements.as_ptr().wrapping_add(i * step * stride);
                    }
                }
                for i in (0..low).chain(high..run) {
                    let Some(copy) = copies.next() else { continue };
                    for (kx, to) in copy.chunks_exact_mut(stride).enumerate() {
                        let column = ((x + i) * step + kx).wrapping_sub(left);
                        let inside = column < width;
                        to.copy_from_slice(if inside {
                            &line[column * stride..][..stride]
                        } else {
                            pad
                        });
                    }
                    to[i] = copy.as_ptr();
                }
            }
            row += run;
            (y, x) = (y + 1, 0);
        }
    }

    /// The addresses of the elements that each tap reads: `[taps][BLOCK]`.
    fn taps(&self, table: &mut Vec<*const u8>) {
        let ChannelsLast {
            conv,
            output,
            stride,
            ref pad,
            ..
        } = *self.weights;
        let [height, width] = conv.input.size;
        let window = conv.window;
        let [kernel_height, kernel_width] = window.kernel;
        table.clear();
        table.resize(kernel_height * kernel_width * BLOCK, pad.as_ptr());
        // Axis coordinates of a tap; `None` in the padding.
        let along = |axis: usize, at: usize, tap: usize| {
            let start = at * window.stride[axis] + tap * window.dilation[axis];
            start
                .checked_sub(window.pads[axis])
                .filter(|&at| at < conv.input.size[axis])
        };
        let (mut y, mut x) = (self.first / output[1], self.first % output[1]);
        let mut row = 0;
        while row < self.rows {
            // The positions that are left in this row of the output.
            let run = (output[1] - x).min(self.rows - row);
            for ky in 0..kernel_height {
                let Some(from) = along(0, y, ky).map(|at| at * width * stride) else {
                    continue;
                };
                debug_assert!(from < height * width * stride);
                for kx in 0..kernel_width {
                    let to = &mut table[(ky * kernel_width + kx) * BLOCK + row..][..run];
                    let offset = kx * window.dilation[1];
                    let step = window.stride[1];
                    // The positions whose tap lies in the image.
                    let inside = |x: usize| along(1, x, kx).is_some();
                    let skip = window.pads[1].saturating_sub(x * step + offset).div_ceil(step);
                    let (mut low, mut high) = (skip.min(run), run);
                    while low < high && !inside(x + low) {
                        low += 1;
                    }
                    while high > low && !inside(x + high - 1) {
                        high -= 1;
                    }
                    let Some(first) = along(1, x + low, kx).filter(|_| low < high) else {
                        continue;
                    };
                    let elements = &self.image[from + first * stride..];
                    assert!(
                        elements.len() >= ((high - low - 1) * step + 1) * stride,
                        "a tap outside its image"
                    );
                    for (i, to) in to[low..high].iter_mut().enumerate() {
                        *to = elements.as_ptr().wrapping_add(i * step * stride);
                    }
                }
            }
            row += run;
            (y, x) = (y + 1, 0);
        }
    }

    /// Computes the block.
    #[inline(always)]
    fn compute<S: Simd>(&self, room: &mut Room) -> Result<(), KernelError> {
        let ChannelsLast {
            conv,
            stride,
            carrier,
            ref starts,
            ..
        } = *self.weights;
        let [_, kernel_width] = conv.window.kernel;
        // With few channels, a whole row of the kernel is read at once. The packed weights are the same.
        let by_row = conv.window.dilation[1] == 1 && kernel_width > 1 && stride <= FEW;
        let Room { table, copies, sums } = room;
        let groups = match by_row {
            true => {
                self.rows(table, copies);
                kernel_width * stride / 4
            }
            false => {
                self.taps(table);
                stride / 4
            }
        };
        let taps = table.len() / BLOCK;
        // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`.
        let cx = unsafe { Context::of::<S>() };
        let wide = if S::Dots::WIDE { PANELS } else { 1 };
        let tall = S::Dots::ROWS.min(ROWS);
        let count = self.panels.len().div_ceil(wide);
        for group in 0..count {
            // Groups of panels are as even as possible, too, and so are the tiles below.
            let panel = self.panels.start + self.panels.len() * group / count;
            let panels = self.panels.start + self.panels.len() * (group + 1) / count - panel;
            let tiles = self.rows.div_ceil(tall);
            for tile in 0..tiles {
                let row = self.rows * tile / tiles;
                let height = self.rows * (tile + 1) / tiles - row;
                let tile = Tile {
                    table,
                    lines: &self.lines[panel * taps * groups..(panel + panels) * taps * groups],
                    starts: &starts[panel * PANEL..],
                    groups,
                    flip: self.weights.flip(),
                    row,
                    sums,
                };
                // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`. The table has taps
                // for the rows `row..row + height`, and the lines are those of `panels` panels.
                unsafe { tile.call::<S>(height, panels) };
            }
            let column = panel * PANEL;
            let place = OutputTile {
                out: self.out,
                at: self.base + self.first * conv.out_channels + column,
                row_stride: conv.out_channels,
                rows: self.rows,
                columns: (panels * PANEL).min(conv.out_channels - column),
                axis: Axis::Columns,
                first_channel: column,
            };
            self.loops.finish_narrow(cx, carrier, &sums.0, COLUMNS, &place)?;
        }
        Ok(())
    }
}

/// A register tile.
struct Tile<'a> {
    table: &'a [*const u8],
    lines: &'a [Line],
    starts: &'a [i32],
    /// Number of groups of four input channels.
    groups: usize,
    flip: u8,
    row: usize,
    sums: &'a mut Sums,
}

impl Tile<'_> {
    /// Computes the tile with `height` rows and `panels` panels.
    ///
    /// # Safety
    /// The machine must have the instruction set `S`. Each address in the table must be that of `4·groups` bytes that can be read.
    #[inline(always)]
    unsafe fn call<S: Simd>(self, height: usize, panels: usize) {
        macro_rules! sizes {
            ($($height:literal)*) => {
                match (height, panels) {
                    $(
                        ($height, 1) => S::call(TileJob::<$height, 1>(self)),
                        ($height, 2) => S::call(TileJob::<$height, 2>(self)),
                        ($height, _) => S::call(TileJob::<$height, PANELS>(self)),
                    )*
                    _ => {}
                }
            };
        }
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { sizes!(1 2 3 4 5 6 7 8) }
    }
}

/// A job that computes a register tile of `HEIGHT` rows times `WIDTH` panels. The addresses in the tile's table must be
/// those of `4·groups` bytes each; only [`Tile::call`] makes such jobs.
struct TileJob<'a, const HEIGHT: usize, const WIDTH: usize>(Tile<'a>);

impl<const HEIGHT: usize, const WIDTH: usize> Job for TileJob<'_, HEIGHT, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Tile {
            table,
            lines,
            starts,
            groups,
            flip,
            row,
            sums: to,
        } = self.0;
        let depth = lines.len() / WIDTH;
        let (starts, _) = starts.as_chunks::<PANEL>();
        // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`.
        let mut sums = unsafe { [[S::Dots::new(0, &[0; PANEL]); WIDTH]; HEIGHT] };
        // Loops over indices, here and below: an iterator over an array of registers would move them to memory.
        for r in 0..HEIGHT {
            for p in 0..WIDTH {
                // SAFETY: as above, the machine has the instruction set `S`.
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
                // SAFETY: each address is that of `4·groups` bytes, and each panel has `groups` lines. This code is
                // compiled for `S`, and it only runs on machines that have `S`.
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
        for r in 0..HEIGHT {
            let (columns, _) = to.0[(row + r) * COLUMNS..][..COLUMNS].as_chunks_mut::<PANEL>();
            for p in 0..WIDTH {
                columns[p] = sums[r][p].to_array();
            }
        }
    }
}
