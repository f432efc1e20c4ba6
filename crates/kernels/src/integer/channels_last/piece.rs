//! The pieces in which depthwise convolutions are computed, and their packed weights.

use super::{ChannelsLast, Line};
use crate::window::Conv;

/// Number of channels of a block.
pub(super) const CHANNELS: usize = 64;
/// Number of neighbouring outputs of a row that are computed at once.
pub(super) const POSITIONS: usize = 32;
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
        let mut lines = [0, 1].map(|row| vec![Line([0; 64]); if row < rows { count } else { 0 }]);
        for channel in 0..channels {
            for tap in 0..height * width {
                let (row, column) = (tap / width, tap % width);
                let weight = weight(channel, tap);
                plain[tap * channels + channel] = weight;
                let (block, in_block) = (channel / CHANNELS, channel % CHANNELS);
                for (down, lines) in lines.iter_mut().enumerate().take(rows) {
                    let row = row + down;
                    let line = ((block * groups + row / 4) * width + column) * 4 + in_block / 16;
                    lines[line].0[in_block % 16 * 4 + row % 4] = weight.cast_unsigned();
                }
            }
        }
        Packed { plain, rows, lines }
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

    /// Of the first `columns` columns that the piece reads, the range of those that are not in the padding.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only kernels for x86-64 read it")
    )]
    #[inline(always)]
    pub(super) fn inside(&self, columns: usize) -> (usize, usize) {
        let conv = &self.weights.conv;
        let (first, left) = (self.x * conv.window.stride[1], conv.window.pads[1]);
        let low = left.saturating_sub(first).min(columns);
        (
            low,
            (left + conv.input.size[1]).saturating_sub(first).clamp(low, columns),
        )
    }

    /// The channels of an element in the padding, from the first channel of the piece on.
    #[inline(always)]
    pub(super) fn padding(&self) -> &[u8] {
        &self.weights.pad[self.channel..]
    }
}
