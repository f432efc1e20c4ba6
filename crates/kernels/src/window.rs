//! Windows that slide over NCHW images. Convolutions and pools have them in common.

use crate::error::{KernelError, product};

/// A window that slides over the rows and columns of an image. A one-dimensional window has height 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Height and width of the kernel, in taps.
    pub kernel: [usize; 2],
    /// Distance between neighbouring outputs, along rows and columns.
    pub stride: [usize; 2],
    /// Distance between neighbouring taps, along rows and columns.
    pub dilation: [usize; 2],
    /// Padding at the top, left, bottom and right.
    pub pads: [usize; 4],
}

/// Extents of a batch of images, row-major `[batch, channels, height, width]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Images {
    /// Number of images.
    pub batch: usize,
    /// Channels of each image.
    pub channels: usize,
    /// Height and width of each image.
    pub size: [usize; 2],
}

/// The largest extent. Larger extents are refused, so that no sum of products below can overflow.
const LARGEST_EXTENT: usize = 1 << 24;
/// The largest number of elements in one padded image.
const LARGEST_IMAGE: usize = 1 << 29;

/// The largest number of taps in the window of a pool, padding included. The sum of so many 16-bit codes is far inside
/// the range of 64 bits.
const LARGEST_WINDOW: usize = 1 << 40;

impl Window {
    /// A window of `kernel` taps with stride 1, no dilation and no padding.
    pub fn new(kernel: [usize; 2]) -> Window {
        Window {
            kernel,
            stride: [1, 1],
            dilation: [1, 1],
            pads: [0; 4],
        }
    }

    /// Number of elements from the first tap to the last along an axis: `(kernel − 1)·dilation + 1`. `check` has to be
    /// called before, so that this does not overflow.
    pub(crate) fn reach(&self, axis: usize) -> usize {
        (self.kernel[axis] - 1) * self.dilation[axis] + 1
    }

    /// Checks that every extent is within the limits, and that kernel extents, strides and dilations are not zero.
    pub(crate) fn check(&self) -> Result<(), KernelError> {
        let positive = [self.kernel, self.stride, self.dilation].concat();
        if positive.contains(&0) {
            return Err(KernelError::Shape(
                "a window with a kernel, stride or dilation of zero".into(),
            ));
        }
        let in_range = |extents: &[usize]| extents.iter().all(|&e| e <= LARGEST_EXTENT);
        let reach_fits = (0..2).all(|a| self.kernel[a].saturating_mul(self.dilation[a]) <= LARGEST_EXTENT);
        if in_range(&positive) && in_range(&self.pads) && reach_fits {
            Ok(())
        } else {
            let Window {
                kernel,
                stride,
                dilation,
                pads,
            } = self;
            Err(KernelError::Size(format!(
                "a window of taps {kernel:?}, stride {stride:?}, dilation {dilation:?} and pads {pads:?}"
            )))
        }
    }

    /// Height and width of the output for images with height and width `size`: `⌊(size + pads − reach) / stride⌋ + 1`.
    pub fn output(&self, size: [usize; 2]) -> Result<[usize; 2], KernelError> {
        self.check()?;
        let mut out = [0; 2];
        for axis in 0..2 {
            if size[axis] > LARGEST_EXTENT {
                return Err(KernelError::Size(format!("image extent {}", size[axis])));
            }
            let padded = size[axis] + self.pads[axis] + self.pads[axis + 2];
            let room = padded.checked_sub(self.reach(axis)).ok_or_else(|| {
                KernelError::Shape(format!(
                    "a window of {} does not fit into {padded} padded elements",
                    self.reach(axis)
                ))
            })?;
            out[axis] = room / self.stride[axis] + 1;
        }
        Ok(out)
    }
}

impl Images {
    /// Number of elements of all images together; `None` if it overflows `usize`.
    pub fn elements(&self) -> Option<usize> {
        product(&[self.batch, self.channels, self.size[0], self.size[1]])
    }

    /// Number of elements in one channel of one image.
    pub(crate) fn plane(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Number of elements in one image.
    pub(crate) fn image(&self) -> usize {
        self.channels * self.plane()
    }
}

/// The shapes of a convolution: its window, and its input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv {
    /// The taps, strides, dilation and padding of the window.
    pub window: Window,
    /// Extents of the input.
    pub input: Images,
    /// Number of output channels of all groups together.
    pub out_channels: usize,
    /// Number of groups. The number of input channels and the number of output channels are multiples of it.
    pub groups: usize,
}

impl Conv {
    /// Extents of the output.
    pub fn output(&self) -> Result<Images, KernelError> {
        Ok(Images {
            batch: self.input.batch,
            channels: self.out_channels,
            size: self.window.output(self.input.size)?,
        })
    }

    /// Number of weights of one output channel: the number of input channels of a group times the number of taps.
    pub fn depth(&self) -> usize {
        let [height, width] = self.window.kernel;
        self.input.channels / self.groups.max(1) * height * width
    }

    /// Checks that the extents are within the limits, and that the groups divide the channels.
    pub(crate) fn check(&self) -> Result<(), KernelError> {
        self.window.check()?;
        let (channels, outputs, groups) = (self.input.channels, self.out_channels, self.groups);
        if groups == 0 || channels % groups != 0 || outputs % groups != 0 {
            return Err(KernelError::Shape(format!(
                "{groups} groups of {channels} input and {outputs} output channels"
            )));
        }
        match product(&[channels / groups, self.window.kernel[0], self.window.kernel[1], outputs]) {
            Some(_) => Ok(()),
            None => Err(KernelError::Size("weights of a convolution".into())),
        }
    }
}

/// A layout of one image in memory. In this layout, 16 neighbouring output positions of a row read 16 neighbouring
/// elements.
///
/// Rows are padded. If the horizontal stride is `s`, each row is split into `s` phases (elements `0, s, 2s, …`, then
/// `1, 1 + s, …`). For output column `x`, the tap in column `t` of the kernel then reads element `x + t·d div s` of
/// phase `t·d mod s`, where `d` is the dilation. An element of the im2col matrix `[taps][positions]` is
/// `image[tap_offset + position_offset]`, so the matrix never has to be stored as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    window: Window,
    input: [usize; 2],
    /// Number of elements that one phase of a row has.
    phase: usize,
    /// Number of elements that a row has, with all its phases.
    row: usize,
    /// Number of elements that one channel has.
    pub(crate) plane: usize,
    /// Height and width of the output.
    pub(crate) output: [usize; 2],
    /// True if images already have this layout, so that they need not be copied.
    pub(crate) in_place: bool,
}

impl Layout {
    pub(crate) fn new(window: Window, input: Images) -> Result<Layout, KernelError> {
        let output = window.output(input.size)?;
        let [height, width] = [0, 1].map(|axis| input.size[axis] + window.pads[axis] + window.pads[axis + 2]);
        let in_place = window.pads == [0; 4] && window.stride[1] == 1;
        let phase = width.div_ceil(window.stride[1]);
        let row = phase * window.stride[1];
        let plane = height * row;
        match product(&[plane, input.channels]) {
            Some(elements) if elements <= LARGEST_IMAGE => Ok(Layout {
                window,
                input: input.size,
                phase,
                row,
                plane,
                output,
                in_place,
            }),
            _ => Err(KernelError::Size(format!(
                "a padded image of {} × {height} × {row}",
                input.channels
            ))),
        }
    }

    /// Number of elements from one output row to the next.
    pub(crate) fn row_step(&self) -> usize {
        self.window.stride[0] * self.row
    }

    /// Number of output positions.
    pub(crate) fn positions(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// Copies one channel to this layout. The caller has filled the `plane` elements of `padded` with the padding. Those outside
    /// of the image stay as they are, so the next channel can be copied to the same place.
    pub(crate) fn place_plane<T: Copy>(&self, plane: &[T], padded: &mut [T]) {
        let [top, left, ..] = self.window.pads;
        let stride = self.window.stride[1];
        let rows = padded.chunks_exact_mut(self.row).skip(top);
        for (row, source) in rows.zip(plane.chunks_exact(self.input[1].max(1))) {
            if stride == 1 {
                row[left..left + source.len()].copy_from_slice(source);
                continue;
            }
            for first in 0..stride.min(source.len()) {
                let column = left + first;
                let to = &mut row[(column % stride) * self.phase + column / stride..];
                if stride == 2 {
                    // The case of stride 2, which is frequent, as a loop that the compiler vectorises.
                    let pairs = source[first..].chunks(2);
                    to.iter_mut().zip(pairs).for_each(|(to, pair)| *to = pair[0]);
                } else {
                    let elements = source.iter().skip(first).step_by(stride);
                    to.iter_mut().zip(elements).for_each(|(to, &from)| *to = from);
                }
            }
        }
    }

    /// Returns the offsets of all taps in the image, in the order channel, row, column. Each tap is a row of the im2col
    /// matrix.
    pub(crate) fn tap_offsets(&self, channels: usize) -> Vec<usize> {
        let Window {
            kernel,
            stride,
            dilation,
            ..
        } = self.window;
        let mut offsets = Vec::with_capacity(channels * kernel[0] * kernel[1]);
        for channel in 0..channels {
            for y in 0..kernel[0] {
                for x in (0..kernel[1]).map(|x| x * dilation[1]) {
                    let in_row = (x % stride[1]) * self.phase + x / stride[1];
                    offsets.push(channel * self.plane + y * dilation[0] * self.row + in_row);
                }
            }
        }
        offsets
    }

    /// Splits the output positions `first..first + count` into runs of positions that are neighbours in memory. Each
    /// run is given as `(offset, length)`.
    pub(crate) fn runs(&self, first: usize, count: usize) -> Runs {
        let step = self.row_step();
        // If there is no gap between rows, all rows are treated as one long row.
        let width = if step == self.output[1] {
            self.positions()
        } else {
            self.output[1]
        };
        Runs {
            width,
            step,
            next: first,
            end: first + count,
        }
    }
}

/// An iterator over runs; see [`Layout::runs`].
pub(crate) struct Runs {
    width: usize,
    step: usize,
    next: usize,
    end: usize,
}

impl Iterator for Runs {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize)> {
        if self.next >= self.end {
            return None;
        }
        let (row, column) = (self.next / self.width, self.next % self.width);
        let length = (self.width - column).min(self.end - self.next);
        self.next += length;
        Some((row * self.step + column, length))
    }
}

/// The shapes of a pool. The caller gives the size of the output, because formats differ in whether they round this
/// size up or down. If a window reaches beyond the padded image, the part outside is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The taps, strides, dilation and padding of the window.
    pub window: Window,
    /// Extents of the input.
    pub input: Images,
    /// Height and width of the output.
    pub output: [usize; 2],
}

/// The taps of one output row or column that lie in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taps {
    /// The image coordinate of the first tap that lies in the image.
    pub(crate) first: usize,
    /// Number of taps that lie in the image.
    pub(crate) inside: usize,
    /// Number of taps that lie in the padded image.
    pub(crate) padded: usize,
}

impl Pool {
    /// Number of elements in one output channel.
    pub(crate) fn out_plane(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// Extents of the output.
    pub fn out_images(&self) -> Images {
        Images {
            size: self.output,
            ..self.input
        }
    }

    /// Checks that the extents are within the limits, and that every window starts inside of the padded image.
    pub(crate) fn check(&self) -> Result<(), KernelError> {
        self.window.check()?;
        let kernel = self.window.kernel;
        if kernel[0] * kernel[1] > LARGEST_WINDOW {
            return Err(KernelError::Size(format!("a pool over windows of {kernel:?}")));
        }
        for axis in 0..2 {
            let size = self.input.size[axis];
            let padded = size
                .saturating_add(self.window.pads[axis])
                .saturating_add(self.window.pads[axis + 2]);
            if size > LARGEST_EXTENT || self.output[axis] > LARGEST_EXTENT {
                return Err(KernelError::Size(format!(
                    "pool extents {size} to {}",
                    self.output[axis]
                )));
            }
            if self.output[axis]
                .saturating_sub(1)
                .saturating_mul(self.window.stride[axis])
                >= padded.max(1)
            {
                return Err(KernelError::Shape(format!(
                    "{} pool outputs from {padded} padded elements",
                    self.output[axis]
                )));
            }
        }
        Ok(())
    }

    /// For each output row (axis 0) or output column (axis 1), its taps that lie in the image.
    pub(crate) fn taps(&self, axis: usize) -> Vec<Taps> {
        let (size, before, dilation) = (
            self.input.size[axis],
            self.window.pads[axis],
            self.window.dilation[axis],
        );
        let padded_end = before + size + self.window.pads[axis + 2];
        let taps = |o: usize| {
            // These positions count from the start of the padded image.
            let start = o * self.window.stride[axis];
            let below = |end: usize| {
                end.saturating_sub(start)
                    .div_ceil(dilation)
                    .min(self.window.kernel[axis])
            };
            let skipped = below(before);
            Taps {
                first: (start + skipped * dilation).saturating_sub(before),
                inside: below(before + size) - skipped,
                padded: below(padded_end),
            }
        };
        (0..self.output[axis]).map(taps).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn a_window_that_is_too_large_is_told_by_its_numbers() {
        let refused = Window::new([1 << 25, 1]).output([1, 1]).unwrap_err();
        let expected = "kernel size out of range: a window of taps [33554432, 1], stride [1, 1], dilation [1, 1] and pads \
                        [0, 0, 0, 0]";
        assert_eq!(refused.to_string(), expected);
    }
}
