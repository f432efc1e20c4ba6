//! Convolutions of images whose channels are last: `[batch, height, width, channels]`.
//!
//! In this order, the elements that a tap reads are neighbours in memory, for all input channels at once. So nothing has
//! to be packed: a table has the address of the elements that each tap reads for each output position, and taps in the
//! padding read a row of padding elements. A dense convolution is a matrix product whose rows are found in this table
//! ([`dense`]), and a depthwise convolution multiplies vectors of channels ([`depthwise`]).
//!
//! These loops compute the same accumulators as the loops of [`ConvWeights`](super::ConvWeights), bit for bit.

mod dense;
mod depthwise;
#[cfg(target_arch = "x86_64")]
mod interleaved;
mod line;
#[cfg(target_arch = "x86_64")]
mod paired;
mod piece;
mod pool;
mod reorder;

pub(crate) use dense::Tile as DenseTile;
#[cfg(target_arch = "x86_64")]
pub(crate) use interleaved::{End, compute as depthwise_sums};
pub(crate) use line::Line;
pub(crate) use piece::Piece;
pub use pool::max_pool_last;
pub use reorder::{Order, reorder};

use super::{
    bytes::{check_code, check_codes, flip, width},
    loops::Loops,
    planes::{Bias, Planes, Weights},
    sums::Carrier,
};
use crate::context::Context;
use crate::error::{KernelError, expect_len, product};
use crate::parallel::Shared;
use crate::window::Conv;
use strait_requantize::IntType;

/// Number of outputs of a panel, which is the number of lanes of the widest vector of accumulators.
const PANEL: usize = 16;

/// The weights of a convolution of images whose channels are last. They are packed once, when the plan is made.
#[derive(Clone, Debug)]
pub struct ChannelsLast {
    conv: Conv,
    output: [usize; 2],
    element: IntType,
    carrier: Carrier,
    /// Number of bytes from one position of the input to the next.
    stride: usize,
    /// The elements of one position in the padding.
    pad: Vec<u8>,
    packed: Packed,
    /// The numbers that the sums of the output channels start from, for whole panels.
    starts: Vec<i32>,
}

#[derive(Clone, Debug)]
enum Packed {
    Dense(dense::Packed),
    Depthwise(piece::Packed),
}

impl ChannelsLast {
    /// Packs weights `[out_channels, channels/groups, height, width]`, as [`ConvWeights::new`](super::ConvWeights::new)
    /// does. Returns `None` if these loops cannot compute the convolution: they take codes and weights of 8 bits, sums of
    /// 32 bits, and convolutions that are dense or have one output channel for each input channel.
    ///
    /// # Errors
    /// As for [`ConvWeights::new`](super::ConvWeights::new).
    pub fn new(
        conv: Conv,
        element: IntType,
        pad_value: i32,
        weights: Weights<'_>,
        bias: Bias<'_>,
    ) -> Result<Option<ChannelsLast>, KernelError> {
        conv.check()?;
        check_codes("the activation", element)?;
        check_code("the pad value", element, pad_value)?;
        let output = conv.window.output(conv.input.size)?;
        let (k, outputs, channels) = (conv.depth(), conv.out_channels, conv.input.channels);
        expect_len("the weights", weights.len(), product(&[outputs, k]))?;
        if let Some(values) = bias.len() {
            expect_len("the bias", values, Some(outputs))?;
        }
        let depthwise = conv.groups > 1 && conv.groups == channels && outputs == channels;
        if width(element) > 1 || k == 0 || outputs == 0 || !(conv.groups == 1 || depthwise) {
            return Ok(None);
        }
        let mut planes = Planes::new(element, weights.ends(), bias.carrier())?;
        let offset = planes.offset(element);
        let row = |o: usize| (o * k..(o + 1) * k).map(|at| i64::from(weights.get(at)));
        let start = |o: usize| bias.get(o).wrapping_add(offset * row(o).sum::<i64>());
        planes.prove((0..outputs).map(|o| (start(o), row(o).map(i64::abs).sum())));
        if planes.words || !planes.narrow {
            return Ok(None);
        }
        let stride = if depthwise { channels } else { dense::stride(&conv) };
        let [kernel_height, kernel_width] = conv.window.kernel;
        let taps = kernel_height * kernel_width;
        let packed = match depthwise {
            true => Packed::Depthwise(piece::Packed::new(&conv, |channel, tap| {
                weights.get(channel * taps + tap) as i8
            })),
            false => Packed::Dense(dense::Packed::new(&conv, stride, |o, channel, tap| {
                planes.byte(weights.get(o * k + channel * taps + tap))
            })),
        };
        // The accumulators fit in 32 bits, so it does not matter that the conversion wraps.
        let mut starts: Vec<i32> = (0..outputs).map(|o| start(o) as i32).collect();
        starts.resize(outputs.next_multiple_of(4 * PANEL), 0);
        Ok(Some(ChannelsLast {
            conv,
            output,
            element,
            carrier: planes.carrier,
            stride,
            // The code has 8 bits, so the cast loses nothing.
            pad: vec![pad_value as u8; stride],
            packed,
            starts,
        }))
    }

    /// Returns an upper bound for the size in bytes of packed weights, including the data that is packed beside them.
    /// `channels` is the number of input channels of a group. The extents have to be those of a tensor in memory.
    pub fn packed_bytes(out_channels: usize, channels: usize, taps: usize) -> usize {
        let line = size_of::<Line>();
        // A single panel is packed a second time, in whole groups of eight.
        let again = if out_channels <= PANEL {
            channels.div_ceil(4) + 1
        } else {
            0
        };
        let panels = out_channels.div_ceil(PANEL);
        let lines = panels * channels.div_ceil(4) * taps;
        let dense = lines * line + again * taps * line + dense::ordered_bytes(lines, panels);
        // The rows of a depthwise kernel are padded to groups of four. Words take twice as much as bytes.
        let depthwise = (out_channels.div_ceil(piece::CHANNELS) * 12 * piece::ROWS * line + out_channels) * taps;
        let (packed, pad) = match channels {
            1 => (dense.max(depthwise), out_channels.max(4)),
            _ => (dense, channels.next_multiple_of(4)),
        };
        packed + out_channels.next_multiple_of(4 * PANEL) * size_of::<i32>() + pad
    }

    /// Number of bytes from one position of the input to the next. It is at least the number of channels; what is between
    /// has no meaning.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The mask that makes codes unsigned bytes.
    fn flip(&self) -> u8 {
        flip(self.element)
    }

    fn positions(&self) -> usize {
        self.output[0] * self.output[1]
    }
}

impl dyn Loops + '_ {
    /// Computes a convolution with requantization, as [`conv`](#method.conv) does, on images whose channels are last.
    /// `input` is `[batch, height, width, stride]`, and `out` is `[batch, rows, columns, out_channels]`.
    pub fn conv_last(
        &self,
        cx: &Context,
        weights: &ChannelsLast,
        batch: usize,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        let ChannelsLast { conv, stride, .. } = *weights;
        self.check_channels(conv.out_channels)?;
        let image = product(&[conv.input.size[0], conv.input.size[1], stride]);
        expect_len(
            "the input",
            input.len(),
            image.and_then(|image| product(&[image, batch])),
        )?;
        let out_image = product(&[conv.out_channels, weights.positions()]);
        let out_image = out_image.ok_or_else(|| KernelError::Size("the output of a convolution".into()))?;
        let elements = product(&[batch, out_image, self.width(weights.carrier)]);
        expect_len("the output", out.len(), elements)?;
        if out.is_empty() {
            return Ok(());
        }
        let out = &Shared::new(out);
        match &weights.packed {
            Packed::Dense(packed) => dense::run(self, cx, weights, packed, batch, input, out),
            Packed::Depthwise(packed) => depthwise::run(self, cx, weights, packed, batch, input, out),
        }
    }
}
