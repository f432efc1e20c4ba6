//! Depthwise convolutions: sixteen or more channels are computed at once.

use super::piece::{CHANNELS, POSITIONS, Packed, Piece, Sums};
use super::{ChannelsLast, Line};
use crate::context::Context;
use crate::error::KernelError;
use crate::integer::{
    loops::Loops,
    output_tile::{Axis, OutputTile},
};
use crate::parallel::{Shared, try_for_each};
use crate::simd::{Job, Simd};

pub(super) fn run(
    loops: &dyn Loops,
    cx: &Context,
    weights: &ChannelsLast,
    packed: &Packed,
    batch: usize,
    input: &[u8],
    out: &Shared<'_, u8>,
) -> Result<(), KernelError> {
    let ChannelsLast { conv, output, .. } = *weights;
    let image = input.len() / batch;
    let channels = conv.out_channels;
    let steps = (batch * weights.positions() * channels).saturating_mul(conv.depth()) / 16;
    try_for_each(batch * output[0], steps, &|task| {
        let (b, y) = (task / output[0], task % output[0]);
        let mut sums = Sums([0; POSITIONS * CHANNELS]);
        let mut scratch = Vec::new();
        for channel in (0..channels).step_by(CHANNELS) {
            for x in (0..output[1]).step_by(POSITIONS) {
                let piece = Piece {
                    weights,
                    packed,
                    image: &input[b * image..(b + 1) * image],
                    y,
                    x,
                    positions: POSITIONS.min(output[1] - x),
                    channel,
                    channels: CHANNELS.min(channels - channel),
                };
                let place = OutputTile {
                    out,
                    at: ((b * output[0] + y) * output[1] + x) * channels + channel,
                    row_stride: channels,
                    rows: piece.positions,
                    columns: piece.channels,
                    axis: Axis::Columns,
                    first_channel: channel,
                };
                accumulate(*cx, &piece, &mut scratch, &mut sums);
                loops.finish_narrow(*cx, weights.carrier, &sums.0, CHANNELS, &place)?;
            }
        }
        Ok(())
    })
}

/// Computes the accumulators of a piece. `scratch` is room that is used again for other pieces.
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(unused_variables, reason = "only the kernel for AVX-512 needs the room")
)]
fn accumulate(cx: Context, piece: &Piece<'_>, scratch: &mut Vec<Line>, sums: &mut Sums) {
    #[cfg(target_arch = "x86_64")]
    if cx.isa() == crate::isa::Isa::Avx512 {
        // SAFETY: a context with AVX-512 exists only on a machine that has it.
        return unsafe { super::interleaved::accumulate(piece, scratch, sums) };
    }
    cx.run(Plain { piece, sums });
}

/// A job that computes the accumulators of a piece, one tap after the other. The compiler vectorises the loops over
/// channels.
struct Plain<'a> {
    piece: &'a Piece<'a>,
    sums: &'a mut Sums,
}

impl Job for Plain<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Piece {
            weights,
            packed,
            y,
            x,
            positions,
            channel,
            channels,
            ..
        } = *self.piece;
        let (window, flip, all) = (weights.conv.window, weights.flip(), weights.conv.out_channels);
        let [height, width] = window.kernel;
        let rows = self.sums.0.chunks_exact_mut(CHANNELS).take(positions);
        for (i, sums) in rows.enumerate() {
            let sums = &mut sums[..channels];
            sums.copy_from_slice(&weights.starts[channel..channel + channels]);
            for tap in 0..height * width {
                let row = y * window.stride[0] + tap / width * window.dilation[0];
                let column = (x + i) * window.stride[1] + tap % width * window.dilation[1];
                let elements = match (self.piece.row(row), self.piece.column(column)) {
                    (Some(row), Some(at)) => &row[at..],
                    _ => self.piece.padding(),
                };
                let weights = &packed.plain[tap * all + channel..];
                for ((sum, &element), &weight) in sums.iter_mut().zip(elements).zip(weights) {
                    *sum = sum.wrapping_add(i32::from(element ^ flip) * i32::from(weight));
                }
            }
        }
    }
}
