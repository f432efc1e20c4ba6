//! The pieces in which depthwise convolutions are computed, and their packed weights.

use super::{ChannelsLast, Line};
use crate::window::Conv;
#[cfg(target_arch = "x86_64")]
use std::ops::Range;

/// Number of channels of a block.
pub(super) const CHANNELS: usize = 64;
/// Number of neighbouring outputs of a row that are computed at once.
pub(super) const POSITIONS: usize = 32;
/// Number of channels of a vector of words, each with two rows.
pub(super) const LANES: usize = 8;
/// The largest number of rows of the output that are computed at once.
pub(super) const ROWS: usize = 2;

/// The packed weights.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    /// `[taps][channels]`.
    pub(super) plain: Vec<i8>,
    /// How many rows of the output are computed together, at most.
    pub(super) rows: usize,
    /// For each row that is computed together: `[blocks of channels][groups of four rows of the image][columns of the
    /// kernel][4]` lines. Byte `4·i + j` of line `l` is the weight of channel `16·l + i` of the block by which row `j` of
    /// the group is multiplied.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only kernels for x86-64 read it")
    )]
    pub(super) lines: [Vec<Line>; ROWS],
    /// The same weights as words: `[vectors of eight channels][groups of four rows][columns of the kernel]` lines. Words `2·i` and
    /// `2·i + 1` of a line are the weights of channel `i` for the first two rows of the group, and from word 16 on, those for the
    /// other two.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only kernels for x86-64 read it")
    )]
    words: [Vec<Line>; ROWS],
}

impl Packed {
    /// Packs the weights `weight(channel, tap)`.
    pub(super) fn new(conv: &Conv, weight: impl Fn(usize, usize) -> i8) -> Packed {
        let channels = conv.out_channels;
        let [height, width] = conv.window.kernel;
        let groups = height.div_ceil(4);
        let mut plain = vec![0; height * width * channels];
        // Two rows of the output read one row more of the image than one, if the stride is 1. If the last group has room
        // for this row, they are computed from the same groups.
        let pair = conv.window.stride[0] == 1 && conv.window.dilation[0] == 1 && height % 4 != 0;
        let rows = if pair { ROWS } else { 1 };
        let count = channels.div_ceil(CHANNELS) * groups * width * 4;
        let zeros = |count: usize| [0, 1].map(|row| vec![Line([0; 64]); if row < rows { count } else { 0 }]);
        let mut lines = zeros(count);
        let mut words = zeros(channels.div_ceil(LANES) * groups * width);
        for channel in 0..channels {
            for tap in 0..height * width {
                let (row, column) = (tap / width, tap % width);
                let weight = weight(channel, tap);
                plain[tap * channels + channel] = weight;
                let (block, in_block) = (channel / CHANNELS, channel % CHANNELS);
                for (down, (lines, words)) in lines.iter_mut().zip(&mut words).enumerate().take(rows) {
                    let row = row + down;
                    let line = ((block * groups + row / 4) * width + column) * 4 + in_block / 16;
                    lines[line].0[in_block % 16 * 4 + row % 4] = weight.cast_unsigned();
                    let line = (channel / LANES * groups + row / 4) * width + column;
                    let word = row % 4 / 2 * 2 * LANES + channel % LANES * 2 + row % 2;
                    words[line].0[2 * word..][..2].copy_from_slice(&i16::from(weight).to_ne_bytes());
                }
            }
        }
        Packed {
            plain,
            rows,
            lines,
            words,
        }
    }
}

/// The accumulators of a block of channels at some neighbouring positions, `[ROWS][POSITIONS][CHANNELS]`.
#[repr(align(64))]
pub(super) struct Sums(pub(super) [[i32; POSITIONS * CHANNELS]; ROWS]);

/// Some channels of some neighbouring outputs in one row or two.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(super) weights: &'a ChannelsLast,
    pub(super) packed: &'a Packed,
    pub(super) image: &'a [u8],
    /// The first row of the output, and the number of rows.
    pub(super) y: usize,
    pub(super) rows: usize,
    pub(super) x: usize,
    pub(super) positions: usize,
    pub(super) channel: usize,
    pub(super) channels: usize,
}

impl Piece<'_> {
    /// A row of the padded image; `None` in the padding. It ends with the last channel of its last element.
    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> Option<&[u8]> {
        let ChannelsLast { conv, stride, .. } = *self.weights;
        let [height, width] = conv.input.size;
        let row = row.wrapping_sub(conv.window.pads[0]);
        (row < height).then(|| &self.image[row * width * stride..][..width * stride])
    }

    /// Where the first channel of the piece is in a row, for a column of the padded image; `None` in the padding.
    #[inline(always)]
    pub(super) fn column(&self, column: usize) -> Option<usize> {
        let conv = &self.weights.conv;
        let column = column.wrapping_sub(conv.window.pads[1]);
        (column < conv.input.size[1]).then(|| column * self.weights.stride + self.channel)
    }

    /// The channels of an element in the padding, from the first channel of the piece on.
    #[inline(always)]
    pub(super) fn padding(&self) -> &[u8] {
        &self.weights.pad[self.channel..]
    }
}

/// Four rows of the padded image, as kernels read them that multiply several rows at once.
#[cfg(target_arch = "x86_64")]
pub(super) struct Quad<'a> {
    /// For each row, the elements from the first column inside of the image on, and the distance from one column to the next.
    /// A row in the padding has the same elements everywhere.
    pub(super) rows: [(&'a [u8], usize); 4],
    /// Of the columns that the piece reads, those that are not in the padding.
    pub(super) inside: Range<usize>,
    /// Number of rows that the kernel has. The rows beyond are multiplied by weights of 0, so they may be any.
    pub(super) used: usize,
    /// True if no row is in the padding.
    pub(super) whole: bool,
}

#[cfg(target_arch = "x86_64")]
impl<'a> Piece<'a> {
    /// Number of rows that the piece reads.
    fn height(&self) -> usize {
        self.weights.conv.window.kernel[0] + self.rows - 1
    }

    /// Number of groups of four rows that the piece reads.
    #[inline(always)]
    pub(super) fn groups(&self) -> usize {
        self.height().div_ceil(4)
    }

    /// The number of columns of the padded image that the piece reads.
    #[inline(always)]
    pub(super) fn columns(&self) -> usize {
        let window = self.weights.conv.window;
        (self.positions - 1) * window.stride[1] + (window.kernel[1] - 1) * window.dilation[1] + 1
    }

    /// A group of four rows.
    #[inline(always)]
    pub(super) fn quad(&'a self, group: usize) -> Quad<'a> {
        let (window, stride) = (self.weights.conv.window, self.weights.stride);
        let used = (self.height() - 4 * group).min(4);
        let first = self.y * window.stride[0] + 4 * group * window.dilation[0];
        let rows = [0, 1, 2, 3].map(|row| self.row(first + row.min(used - 1) * window.dilation[0]));
        let whole = rows.iter().all(Option::is_some);
        let inside = self.inside();
        let rows = rows.map(|row| match row {
            Some(row) if !inside.is_empty() => {
                let at = (self.x * window.stride[1] + inside.start - window.pads[1]) * stride + self.channel;
                (&row[at..], stride)
            }
            _ => (self.padding(), 0),
        });
        Quad {
            rows,
            inside,
            used,
            whole,
        }
    }

    /// Of the columns that the piece reads, those that are not in the padding.
    #[inline(always)]
    fn inside(&self) -> Range<usize> {
        let (conv, columns) = (&self.weights.conv, self.columns());
        let (first, left) = (self.x * conv.window.stride[1], conv.window.pads[1]);
        let low = left.saturating_sub(first).min(columns);
        low..(left + conv.input.size[1]).saturating_sub(first).clamp(low, columns)
    }

    /// The weights of a vector of eight channels as words, for one row of the output: `[groups of four rows][columns of the
    /// kernel]` lines.
    #[inline(always)]
    pub(super) fn words(&self, row: usize, vector: usize) -> &'a [Line] {
        let count = self.groups() * self.weights.conv.window.kernel[1];
        &self.packed.words[row][(self.channel / LANES + vector) * count..][..count]
    }
}
