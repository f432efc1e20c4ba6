//! Dense convolutions as matrix products: a row is an output position, and a panel has sixteen output channels.

#[cfg(target_arch = "x86_64")]
mod halves;
mod packed;
mod tables;
mod tile;

use super::{ChannelsLast, Line, PANEL};
use crate::context::Context;
use crate::error::KernelError;
use crate::integer::{
    batch::Codes,
    loops::Loops,
    output_tile::{Axis, OutputTile},
};
use crate::isa::Isa;
use crate::parallel::{Shared, threads, try_for_each};
use crate::simd::{Dots, Job, Simd};
use packed::by_row;
pub(super) use packed::{Packed, ordered_bytes, stride};
use std::cell::Cell;
use std::ops::Range;
use tables::Padded;
pub(crate) use tile::Tile;

/// The largest number of output positions of a block. Its sums stay in the first-level cache.
const BLOCK: usize = 56;
/// The largest number of blocks of a task.
const BLOCKS: usize = 16;
/// The largest number of rows and of panels of a register tile.
const ROWS: usize = 8;
const PANELS: usize = 3;
/// The smallest number of rows of a register tile whose sums are requantized in registers.
const FEWEST: usize = 4;
/// Number of output channels of half a panel.
const HALF: usize = PANEL / 2;
/// Number of columns of the buffer of sums.
const COLUMNS: usize = PANELS * PANEL;

/// The sums of a block. They are aligned so that each vector lies in one cache line.
#[repr(align(64))]
struct Sums([i32; BLOCK * COLUMNS]);

pub(super) fn run(
    loops: &dyn Loops,
    cx: &Context,
    weights: &ChannelsLast,
    packed: &Packed,
    batch: usize,
    input: &[u8],
    out: &Shared<'_, u8>,
) -> Result<(), KernelError> {
    let positions = weights.positions();
    let image = input.len() / batch;
    let panels = weights.conv.out_channels.div_ceil(PANEL);
    // The number of rows of a register tile, and the largest number of tiles of a block.
    let (tall, most) = match cx.isa() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => halves::tiles_of_block(weights),
        _ => (ROWS, BLOCK / ROWS),
    };
    let tiles = positions.div_ceil(tall);
    let blocks = tiles.div_ceil(most);
    // If there are too few blocks for the threads, the panels are divided, too.
    let parts = threads().div_ceil(batch * blocks).min(panels.div_ceil(PANELS));
    // A task computes several blocks, so that it needs its room and its rows of the padded image only once. Several threads
    // need several tasks each, so that none of them has to wait for long at the end.
    let each_thread = if threads() > 1 { 4 * threads() } else { 1 };
    let blocks_each = (batch * blocks / each_thread).clamp(1, BLOCKS);
    let tasks = blocks.div_ceil(blocks_each);
    let steps = (batch * positions * weights.conv.out_channels).saturating_mul(weights.conv.depth()) / 16;
    try_for_each(batch * tasks * parts, steps, &|task| {
        let (b, first, part) = (task / parts / tasks, task / parts % tasks * blocks_each, task % parts);
        cx.run(Blocks {
            loops,
            weights,
            packed,
            image: &input[b * image..(b + 1) * image],
            // Tiles differ by at most one position, so that none is much smaller than the others.
            starts: |block| positions * (tiles * block / blocks) / tiles,
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
    packed: &'a Packed,
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
        let mut room = ROOM.take().unwrap_or_default();
        let Room {
            table,
            copies,
            #[cfg(target_arch = "x86_64")]
            rows,
            sums,
        } = &mut *room;
        let positions = (self.starts)(self.blocks.start)..(self.starts)(self.blocks.end);
        let padded = Padded::new(self.weights, self.image, positions, copies);
        let codes = self.loops.codes().filter(|_| S::ISA == Isa::Avx512);
        for block in self.blocks {
            let first = (self.starts)(block);
            let block = Block {
                loops: self.loops,
                codes,
                weights: self.weights,
                packed: self.packed,
                image: self.image,
                padded,
                first,
                rows: (self.starts)(block + 1) - first,
                panels: self.panels.clone(),
                out: self.out,
                base: self.base,
            };
            #[cfg(target_arch = "x86_64")]
            if S::ISA == Isa::Avx2 {
                // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`.
                unsafe { block.by_halves::<S>(table, rows, sums)? };
                continue;
            }
            block.compute::<S>(table, sums)?;
        }
        ROOM.set(Some(room));
        Ok(())
    }
}

thread_local! {
    /// The room of the last task of this thread. Small models would need much of their time to allocate it for each layer.
    static ROOM: Cell<Option<Box<Room>>> = const { Cell::new(None) };
}

/// What a task needs for each of its blocks.
#[derive(Default)]
struct Room {
    table: Vec<*const u8>,
    /// Rows of the padded image.
    copies: Vec<u8>,
    /// The elements that a block reads, on AVX2.
    #[cfg(target_arch = "x86_64")]
    rows: halves::Rows,
    /// The sums of a block. There are none as long as sums are requantized in registers.
    sums: Option<Box<Sums>>,
}

/// Some panels of the outputs at some positions.
struct Block<'a, 'b> {
    loops: &'a dyn Loops,
    /// Requantizes sums in registers, if the loops do this on the instruction set.
    codes: Option<Codes<'a>>,
    weights: &'a ChannelsLast,
    packed: &'a Packed,
    image: &'a [u8],
    /// The rows of the padded image that the task reads, if it has them.
    padded: Option<Padded<'a>>,
    /// The first position, and the number of positions.
    first: usize,
    rows: usize,
    panels: Range<usize>,
    out: &'a Shared<'b, u8>,
    /// The index of the image's first output element.
    base: usize,
}

impl Block<'_, '_> {
    /// Writes the table of what each tap reads. Returns the number of groups of four bytes that a tap has, and the mask that makes
    /// its elements unsigned bytes. With few channels, a tap is a whole row of the kernel; the packed lines are the same.
    #[inline(always)]
    fn table(&self, table: &mut Vec<*const u8>) -> (usize, u8) {
        match &self.padded {
            Some(padded) => padded.table(self, table),
            None => self.taps(table),
        }
        let ChannelsLast { conv, stride, .. } = *self.weights;
        let groups = match by_row(&conv, stride) {
            true => conv.window.kernel[1] * stride / 4,
            false => stride / 4,
        };
        (groups, self.padded.map_or(self.weights.flip(), |padded| padded.flip))
    }

    /// The panels of a part of `count`, and where their outputs are written. Parts are as even as possible.
    #[inline(always)]
    fn part(&self, part: usize, count: usize) -> (Range<usize>, OutputTile<'_>) {
        let outputs = self.weights.conv.out_channels;
        let at = |part: usize| self.panels.start + self.panels.len() * part / count;
        let panels = at(part)..at(part + 1);
        let column = panels.start * PANEL;
        let place = OutputTile {
            out: self.out,
            at: self.base + self.first * outputs + column,
            row_stride: outputs,
            rows: self.rows,
            columns: (panels.len() * PANEL).min(outputs - column),
            axis: Axis::Columns,
            first_channel: column,
        };
        (panels, place)
    }

    /// Computes the block.
    #[inline(always)]
    fn compute<S: Simd>(&self, table: &mut Vec<*const u8>, sums: &mut Option<Box<Sums>>) -> Result<(), KernelError> {
        let ChannelsLast {
            carrier, ref starts, ..
        } = *self.weights;
        let (groups, flip) = self.table(table);
        let lines = self.packed.lines();
        let taps = table.len() / BLOCK;
        // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`.
        let cx = unsafe { Context::of::<S>() };
        let wide = if S::Dots::WIDE { PANELS } else { 1 };
        let tall = S::Dots::ROWS.min(ROWS);
        let count = self.panels.len().div_ceil(wide);
        let tiles = self.rows.div_ceil(tall);
        // Tiles are as even as possible.
        let (least, larger) = (self.rows / tiles, self.rows % tiles);
        let codes = self.codes.filter(|_| least >= FEWEST);
        for group in 0..count {
            let (Range { start: panel, end }, place) = self.part(group, count);
            let panels = end - panel;
            // The lines of the next panels may still be far away in memory. Each of the first tiles brings as many of them
            // nearer as a panel has.
            let next = if group + 1 < count {
                panel + panels
            } else {
                self.panels.start
            };
            let mut tile = Tile {
                table,
                lines: &lines[panel * taps * groups..(panel + panels) * taps * groups],
                starts: &starts[panel * PANEL..],
                groups,
                flip,
                row: 0,
                octets: &self.packed.octets,
                outputs: place.columns,
                ahead: lines.as_ptr(),
            };
            for index in 0..tiles {
                let near = if index < wide { next + index } else { panel };
                tile.ahead = lines.as_ptr().wrapping_add(near * taps * groups);
                // The first tiles have a row more, if the rows cannot be divided evenly.
                let height = least + usize::from(index < larger);
                // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`. `codes` exists only if
                // `S` is AVX-512. The table has taps for the rows `row..row + height`, and the lines are those of `panels`
                // panels.
                unsafe {
                    match codes {
                        Some(codes) => codes.dense(&tile, [height, panels], &place.rows(tile.row, height)),
                        None => {
                            let sums = sums.get_or_insert_with(|| Box::new(Sums([0; BLOCK * COLUMNS])));
                            tile.call::<S>(height, panels, sums);
                        }
                    }
                }
                tile.row += height;
            }
            if codes.is_none()
                && let Some(sums) = sums
            {
                self.loops.finish_narrow(cx, carrier, &sums.0, COLUMNS, &place)?;
            }
        }
        Ok(())
    }
}
