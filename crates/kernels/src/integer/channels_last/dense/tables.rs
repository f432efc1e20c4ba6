//! The addresses of the elements that the taps of a kernel read.
//!
//! These functions are inlined into loops that are compiled for an instruction set, so that addresses are computed in vectors.

use super::super::ChannelsLast;
use super::{BLOCK, Block, by_row};
use std::ops::Range;

/// The largest number of bytes that a task copies, unless rows of the kernel are read at once.
const COPIED: usize = 1 << 17;

/// The rows of the padded image that the windows of a task read. Their positions have the same distances everywhere, so
/// that an address is a sum: the offset of the window, and that of the tap.
#[derive(Clone, Copy)]
pub(super) struct Padded<'a> {
    bytes: &'a [u8],
    /// Number of bytes from one row to the next.
    pitch: usize,
    /// The row of the output whose windows start in the first of these rows.
    first: usize,
    /// The mask that makes the elements unsigned bytes. Copies have such bytes already.
    pub(super) flip: u8,
}

impl<'a> Padded<'a> {
    /// The rows for some positions of the output. They are part of the image if no window reads padding; otherwise, they are
    /// copied to `copies`. `None` if this were too many bytes, as the windows of a few positions may read a whole large image
    /// if they are dilated.
    #[inline(always)]
    pub(super) fn new(
        weights: &ChannelsLast,
        image: &'a [u8],
        positions: Range<usize>,
        copies: &'a mut Vec<u8>,
    ) -> Option<Padded<'a>> {
        let ChannelsLast {
            conv,
            output,
            stride,
            ref pad,
            ..
        } = *weights;
        let (window, [height, width]) = (conv.window, conv.input.size);
        let [top, left, ..] = window.pads;
        let first = positions.start / output[1];
        let count = positions.end.div_ceil(output[1]) - first;
        // The extent of the windows of `count` neighbours.
        let extent = |axis: usize, count: usize| {
            (count - 1) * window.stride[axis] + (window.kernel[axis] - 1) * window.dilation[axis] + 1
        };
        let (rows, columns) = (extent(0, count), extent(1, output[1]));
        let start = first * window.stride[0];
        let inside = start >= top && start - top + rows <= height && left == 0 && columns <= width;
        let flip = weights.flip();
        let (bytes, pitch, flip) = if inside {
            (&image[(start - top) * width * stride..], width * stride, flip)
        } else {
            let pitch = columns * stride;
            let size = rows * pitch;
            if size > COPIED && !by_row(&conv, stride) {
                return None;
            }
            if copies.len() < size {
                copies.resize(size, 0);
            }
            // All bytes of an element in the padding are the same.
            let pad = pad[0] ^ flip;
            for (row, to) in copies[..size].chunks_exact_mut(pitch).enumerate() {
                let row = (start + row).wrapping_sub(top);
                if row >= height {
                    to.fill(pad);
                    continue;
                }
                let line = &image[row * width * stride..][..width * stride];
                let (before, to) = to.split_at_mut((left * stride).min(pitch));
                let (to, behind) = to.split_at_mut(line.len().min(to.len()));
                before.fill(pad);
                to.iter_mut().zip(line).for_each(|(to, &byte)| *to = byte ^ flip);
                behind.fill(pad);
            }
            (&copies[..size], pitch, 0)
        };
        assert!(
            bytes.len() >= (rows - 1) * pitch + columns * stride,
            "a window outside its image"
        );
        Some(Padded {
            bytes,
            pitch,
            first,
            flip,
        })
    }

    /// The addresses of what each tap reads, `[taps][BLOCK]`, for the positions of a block of the task. A tap is a whole
    /// row of the kernel if its elements are neighbours in memory.
    #[inline(always)]
    pub(super) fn table(&self, block: &Block<'_, '_>, table: &mut Vec<*const u8>) {
        let ChannelsLast {
            conv, output, stride, ..
        } = *block.weights;
        let ([down, step], [down_tap, step_tap]) = (conv.window.stride, conv.window.dilation);
        let [height, width] = conv.window.kernel;
        // The offset of the window of each position.
        let mut windows = [0; BLOCK];
        let (mut y, mut x) = (block.first / output[1] - self.first, block.first % output[1]);
        let mut row = 0;
        while row < block.rows {
            // The positions that are left in this row of the output.
            let run = (output[1] - x).min(block.rows - row);
            let mut window = y * down * self.pitch + x * step * stride;
            for to in &mut windows[row..row + run] {
                *to = window;
                window += step * stride;
            }
            row += run;
            (y, x) = (y + 1, 0);
        }
        let width = if by_row(&conv, stride) { 1 } else { width };
        table.resize(height * width * BLOCK, std::ptr::null());
        for (row, taps) in table.chunks_exact_mut(width * BLOCK).enumerate() {
            let row = self.bytes.as_ptr().wrapping_add(row * down_tap * self.pitch);
            for (tap, to) in taps.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
                let tap = row.wrapping_add(tap * step_tap * stride);
                for (to, window) in to.iter_mut().zip(windows) {
                    *to = tap.wrapping_add(window);
                }
            }
        }
    }
}

impl Block<'_, '_> {
    /// The addresses of the elements that each tap reads: `[taps][BLOCK]`.
    #[inline(always)]
    pub(super) fn taps(&self, table: &mut Vec<*const u8>) {
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
}
