//! Convolution with one input channel to a group: no product of matrices, but a few multiply-adds for each output, made
//! for neighbouring outputs of a row at once.

use super::{
    conv::ConvWeights,
    finish::{Axis, Finish, Place},
};
use crate::{
    error::KernelError,
    isa::{Context, Job},
    parallel::{Shared, try_for_each},
    simd::{Dots, Simd},
};
use strait_requantize::IntType;

/// Accumulators of a tile.
const PIECE: usize = 1 << 11;
/// Outputs of a vector: it may read and write as many beyond the end of a row.
const LANES: usize = 16;

/// The widest output row that these loops take.
pub(super) const WIDEST: usize = PIECE;

/// The slices have been checked against `weights`; none is empty.
pub(super) fn depthwise(
    finish: &dyn Finish,
    cx: &Context,
    weights: &ConvWeights,
    input: &[u8],
    out: &mut [u8],
) -> Result<(), KernelError> {
    let (conv, layout) = (&weights.conv, &weights.layout);
    let planes = input.len() / conv.input.plane();
    let steps = planes.saturating_mul(layout.positions()).saturating_mul(conv.depth());
    let out = Shared::new(out);
    try_for_each(planes, steps, &|index| {
        let image = &input[index * conv.input.plane()..(index + 1) * conv.input.plane()];
        let mut padded = vec![0; layout.plane + LANES];
        layout.pad_plane(image, weights.pad, &mut padded[..layout.plane]);
        let channel = index % conv.input.channels;
        let per_channel = conv.out_channels / conv.input.channels;
        let [height, width] = layout.output;
        let rows = (PIECE / width).clamp(1, height);
        let mut sums = [0; PIECE + LANES];
        for output in channel * per_channel..(channel + 1) * per_channel {
            for first in (0..height).step_by(rows) {
                let rows = rows.min(height - first);
                cx.run(RowsJob {
                    weights,
                    image: &padded[first * layout.row_step()..],
                    output,
                    rows,
                    sums: &mut sums,
                });
                let place = Place {
                    out: &out,
                    at: (index * per_channel + output - channel * per_channel) * layout.positions() + first * width,
                    row_stride: 0,
                    rows: 1,
                    columns: rows * width,
                    axis: Axis::Rows,
                    first_channel: output,
                };
                finish.finish(*cx, &sums, rows * width, &place)?;
            }
        }
        Ok(())
    })
}

/// The accumulators of some rows of one output channel.
struct RowsJob<'a> {
    weights: &'a ConvWeights,
    image: &'a [u8],
    output: usize,
    rows: usize,
    sums: &'a mut [i32; PIECE + LANES],
}

impl Job for RowsJob<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        match self.weights.element {
            IntType::I8 => self.rows::<S, true>(),
            _ => self.rows::<S, false>(),
        }
    }
}

impl RowsJob<'_> {
    #[inline(always)]
    fn rows<S: Simd, const SIGNED: bool>(self) {
        let ConvWeights {
            layout,
            rows,
            starts,
            taps,
            ..
        } = self.weights;
        let depth = taps.len();
        let weights = &rows[self.output * depth..(self.output + 1) * depth];
        let [_, width] = layout.output;
        for y in 0..self.rows {
            let row = &self.image[y * layout.row_step()..];
            for x in (0..width).step_by(LANES) {
                // SAFETY: `S` is what this is compiled for. The last tap of the last output of a row is inside the image,
                // and at most `LANES − 1` bytes beyond it are read.
                let sums = unsafe {
                    let mut sums = S::Dots::new(starts[self.output], &[0; LANES]);
                    for (&tap, &weight) in taps.iter().zip(weights) {
                        debug_assert!(tap + x + LANES <= row.len());
                        let bytes = &*row.as_ptr().add(tap + x).cast::<[u8; LANES]>();
                        sums = sums.add_scaled::<SIGNED>(bytes, i32::from(weight.cast_signed()));
                    }
                    sums.to_array()
                };
                // The next row overwrites what is beyond the end of this one.
                if let Some(to) = self.sums[y * width + x..].first_chunk_mut() {
                    *to = sums;
                }
            }
        }
    }
}
