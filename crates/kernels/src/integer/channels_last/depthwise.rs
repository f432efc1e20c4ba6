//! Depthwise convolutions: sixteen or more channels are computed at once.

use super::piece::{CHANNELS, POSITIONS, Packed, Piece, ROWS, Sums};
use super::{ChannelsLast, Line};
#[cfg(target_arch = "x86_64")]
use super::{interleaved, paired};
use crate::context::Context;
use crate::error::KernelError;
use crate::integer::{
    loops::Loops,
    output_tile::{Axis, OutputTile},
};
use crate::isa::Isa;
use crate::parallel::{Shared, threads, try_for_each};
use crate::simd::{Job, Simd};
use std::cell::Cell;

/// The largest number of strips of a task. A strip is one row of the output or two.
const STRIPS: usize = 8;

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
    let codes = loops.codes().filter(|_| cx.isa() == Isa::Avx512);
    let strips = output[0].div_ceil(packed.rows);
    // A task computes several strips, so that it needs its room only once.
    let strips_each = (batch * strips / (4 * threads())).clamp(1, STRIPS);
    let tasks = strips.div_ceil(strips_each);
    try_for_each(batch * tasks, steps, &|task| {
        let (b, first) = (task / tasks, task % tasks * strips_each);
        let mut room = ROOM.take().unwrap_or_default();
        for strip in first..strips.min(first + strips_each) {
            let y = strip * packed.rows;
            for channel in (0..channels).step_by(CHANNELS) {
                for x in (0..output[1]).step_by(POSITIONS) {
                    let piece = Piece {
                        weights,
                        packed,
                        image: &input[b * image..(b + 1) * image],
                        y,
                        rows: packed.rows.min(output[0] - y),
                        x,
                        positions: POSITIONS.min(output[1] - x),
                        channel,
                        channels: CHANNELS.min(channels - channel),
                    };
                    let place = |row: usize| OutputTile {
                        out,
                        at: ((b * output[0] + y + row) * output[1] + x) * channels + channel,
                        row_stride: channels,
                        rows: piece.positions,
                        columns: piece.channels,
                        axis: Axis::Columns,
                        first_channel: channel,
                    };
                    if let Some(codes) = codes {
                        // SAFETY: a context with AVX-512 exists only on a machine that has it. Each task has its own rows of
                        // the output.
                        unsafe { codes.depthwise(&piece, &mut room.scratch, [place(0), place(piece.rows - 1)]) };
                        continue;
                    }
                    let sums = room.accumulate(*cx, &piece);
                    for row in 0..piece.rows {
                        loops.finish_narrow(*cx, weights.carrier, &sums.0[row], CHANNELS, &place(row))?;
                    }
                }
            }
        }
        ROOM.set(Some(room));
        Ok(())
    })
}

thread_local! {
    /// The room of the last task of this thread. Small models would need much of their time to allocate it for each layer.
    static ROOM: Cell<Option<Box<Room>>> = const { Cell::new(None) };
}

/// What a task needs for each of its pieces.
#[derive(Default)]
struct Room {
    scratch: Vec<Line>,
    /// The sums of a piece. There are none as long as sums are requantized in registers.
    sums: Option<Box<Sums>>,
}

impl Room {
    /// Computes the accumulators of a piece.
    fn accumulate(&mut self, cx: Context, piece: &Piece<'_>) -> &Sums {
        let empty = || Box::new(Sums([[0; POSITIONS * CHANNELS]; ROWS]));
        let sums = self.sums.get_or_insert_with(empty);
        #[cfg(target_arch = "x86_64")]
        {
            let accumulate = match cx.isa() {
                Isa::Scalar => None,
                Isa::Avx2 => Some(paired::accumulate as unsafe fn(&Piece<'_>, &mut Vec<Line>, &mut Sums)),
                Isa::Avx512 => Some(interleaved::accumulate as _),
            };
            if let Some(accumulate) = accumulate {
                // SAFETY: a context with an instruction set exists only on a machine that has it.
                unsafe { accumulate(piece, &mut self.scratch, sums) };
                return sums;
            }
        }
        for (row, sums) in sums.0.iter_mut().enumerate().take(piece.rows) {
            let piece = Piece {
                y: piece.y + row,
                ..*piece
            };
            cx.run(Plain { piece, sums });
        }
        sums
    }
}

/// A job that computes the accumulators of a piece, one tap after the other. The compiler vectorises the loops over
/// channels.
struct Plain<'a> {
    piece: Piece<'a>,
    sums: &'a mut [i32; POSITIONS * CHANNELS],
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
        } = self.piece;
        let (window, flip, all) = (weights.conv.window, weights.flip(), weights.conv.out_channels);
        let [height, width] = window.kernel;
        let rows = self.sums.chunks_exact_mut(CHANNELS).take(positions);
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
