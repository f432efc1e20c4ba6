//! The addresses of the elements that the taps of a kernel read.
//!
//! These functions are inlined into loops that are compiled for an instruction set, so that addresses are computed in vectors.

use super::super::ChannelsLast;
use super::{BLOCK, Block};

impl Block<'_, '_> {
    /// The addresses of what each row of the kernel reads, `[kernel height][BLOCK]`. All taps of such a row are neighbours
    /// in memory. Where some of them are in the padding, the row is copied to `copies`, whose first
    /// row has padding if `padded` is true.
    #[inline(always)]
    pub(super) fn rows(&self, table: &mut Vec<*const u8>, copies: &mut Vec<u8>, padded: &mut bool) {
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
        let room = (kernel_height * BLOCK + 1) * row_bytes;
        if copies.len() < room {
            copies.resize(room, 0);
        }
        let (padding, copies) = copies[..room].split_at_mut(row_bytes);
        if !*padded {
            padding.chunks_exact_mut(stride).for_each(|to| to.copy_from_slice(pad));
            *padded = true;
        }
        let mut copies = copies.chunks_exact_mut(row_bytes);
        table.clear();
        table.resize(kernel_height * BLOCK, padding.as_ptr());
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
                    // The taps of the row that are in the image.
                    let start = (x + i) * step;
                    let skip = left.saturating_sub(start).min(kernel_width);
                    let past = (width + left).saturating_sub(start).min(kernel_width);
                    copy.copy_from_slice(padding);
                    if skip < past {
                        let elements = &line[(start + skip - left) * stride..][..(past - skip) * stride];
                        copy[skip * stride..past * stride].copy_from_slice(elements);
                    }
                    to[i] = copy.as_ptr();
                }
            }
            row += run;
            (y, x) = (y + 1, 0);
        }
    }

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
