//! Integer convolution with one input channel per group. It needs no matrix product: each output is the sum of a few
//! products, and neighbouring outputs of a row are computed at once.

use super::{
    bytes::width,
    lane::Lane,
    loops::Loops,
    planes::Starts,
    sums::{Carrier, Room},
};
use crate::context::Context;
use crate::integer::conv_weights::ConvWeights;
use crate::integer::conv_weights::WIDEST;
use crate::integer::output_tile::{Axis, OutputTile};
use crate::simd::Job;
use crate::{
    error::KernelError,
    parallel::{Shared, try_for_each},
    simd::{Dots, Simd},
};
use strait_requantize::IntType;

/// Number of accumulators in a tile.
const PIECE: usize = WIDEST;
/// Number of outputs that are computed at once. This many elements past the end of a row may be read and written.
const LANES: usize = 16;

/// Computes the convolution. The caller has checked that the slices fit `weights`, and that none of them is empty.
pub(super) fn depthwise<T: Lane>(
    loops: &dyn Loops,
    cx: &Context,
    weights: &ConvWeights,
    input: &[u8],
    out: &mut [u8],
) -> Result<(), KernelError> {
    let (conv, layout) = (&weights.conv, &weights.layout);
    let plane = conv.input.plane() * width(weights.element);
    let planes = input.len() / plane;
    let steps = planes.saturating_mul(layout.positions()).saturating_mul(conv.depth());
    let out = Shared::new(out);
    try_for_each(planes, steps, &|index| {
        let codes = T::elements(weights.element, &input[index * plane..(index + 1) * plane]);
        let mut padded = vec![T::element(weights.element, weights.pad); layout.plane + LANES];
        layout.place_plane(&codes, &mut padded[..layout.plane]);
        let channel = index % conv.input.channels;
        let per_channel = conv.out_channels / conv.input.channels;
        let [height, width] = layout.output;
        let rows = (PIECE / width).clamp(1, height);
        let carrier = weights.planes.carrier;
        let mut sums = Room::<{ PIECE + LANES }>::new(if weights.planes.narrow { Carrier::I32 } else { carrier });
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
                let place = OutputTile {
                    out: &out,
                    at: (index * per_channel + output - channel * per_channel) * layout.positions() + first * width,
                    row_stride: 0,
                    rows: 1,
                    columns: rows * width,
                    axis: Axis::Rows,
                    first_channel: output,
                };
                match &sums {
                    Room::I32(sums) => loops.finish_narrow(*cx, carrier, sums, rows * width, &place)?,
                    Room::I64(_) => loops.finish(*cx, sums.sums(), rows * width, &place)?,
                }
            }
        }
        Ok(())
    })
}

/// A job that computes the accumulators of some rows of one output channel.
struct RowsJob<'a, T> {
    weights: &'a ConvWeights,
    image: &'a [T],
    output: usize,
    rows: usize,
    sums: &'a mut Room<{ PIECE + LANES }>,
}

impl<T: Lane> Job for RowsJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        match self.weights.element {
            IntType::I8 | IntType::I4 => self.signed::<S, true>(),
            _ => self.signed::<S, false>(),
        }
    }
}

impl<T: Lane> RowsJob<'_, T> {
    #[inline(always)]
    fn signed<S: Simd, const SIGNED: bool>(self) {
        let RowsJob {
            weights,
            image,
            output,
            rows,
            sums,
        } = self;
        let taps = &weights.taps;
        let size = (weights.layout.output[1], weights.layout.row_step(), rows);
        match (&weights.starts, sums) {
            (Starts::I32(starts), Room::I32(sums)) => {
                let row = weights.row(0, output);
                each::<T, i32>(image, size, sums, |window| {
                    // SAFETY: this code is compiled for `S`, and `each` only passes windows with enough elements.
                    unsafe { some::<T, S, SIGNED>(window, taps, row, starts[output]) }
                });
            }
            (Starts::I64(starts), Room::I64(sums)) => each::<T, i64>(image, size, sums, |window| {
                // SAFETY: as above, the machine has the instruction set `S`, and the window has enough elements.
                unsafe { all::<T, S, SIGNED>(weights, output, window, starts[output]) }
            }),
            // The accumulators fit in 32 bits, so the wrapping conversion does not change them.
            (Starts::I64(starts), Room::I32(sums)) => each::<T, i32>(image, size, sums, |window| {
                // SAFETY: as above, the machine has the instruction set `S`, and the window has enough elements.
                unsafe { all::<T, S, SIGNED>(weights, output, window, starts[output]) }.map(|sum| sum as i32)
            }),
            // This case does not occur: sums that start in 32 bits are also carried in 32 bits.
            (Starts::I32(_), Room::I64(_)) => {}
        }
    }
}

/// Computes rows of outputs, sixteen neighbours at a time. `sums` gets the elements of the image, beginning at the
/// first tap of an output. `sums` returns this output and the fifteen outputs after it, whose first taps are the next
/// fifteen elements. The image must have 15 more elements after the last tap of a row.
#[inline(always)]
fn each<T: Lane, A: Copy>(
    image: &[T],
    (width, row_step, rows): (usize, usize, usize),
    out: &mut [A],
    sums: impl Fn(&[T]) -> [A; LANES],
) {
    for y in 0..rows {
        for x in (0..width).step_by(LANES) {
            let sums = sums(&image[y * row_step + x..]);
            // If the sixteen outputs go past the end of this row, the next row overwrites the extra outputs.
            if let Some(to) = out[y * width + x..].first_chunk_mut() {
                *to = sums;
            }
        }
    }
}

/// Computes the sums of sixteen outputs over some taps, in 32 bits.
///
/// # Safety
/// The machine must have the instruction set `S`, and sixteen elements must be readable from each tap on.
#[inline(always)]
unsafe fn some<T: Lane, S: Simd, const SIGNED: bool>(
    window: &[T],
    taps: &[usize],
    row: &[u8],
    start: i32,
) -> [i32; LANES] {
    // SAFETY: the caller upholds this function's safety contract.
    unsafe {
        let mut sums = S::Dots::new(start, &[0; LANES]);
        for (at, &tap) in taps.iter().enumerate() {
            debug_assert!(tap + LANES <= window.len());
            sums = T::add_scaled::<S::Dots, SIGNED>(sums, window.as_ptr().add(tap), T::weight(row, at));
        }
        sums.to_array()
    }
}

/// Computes the sums of sixteen outputs over all taps of all planes of the weights, in 64 bits.
///
/// # Safety
/// The machine must have the instruction set `S`, and sixteen elements must be readable from each tap on.
#[inline(always)]
unsafe fn all<T: Lane, S: Simd, const SIGNED: bool>(
    weights: &ConvWeights,
    output: usize,
    window: &[T],
    start: i64,
) -> [i64; LANES] {
    let mut wide = [start; LANES];
    for (p, plane) in weights.planes.list.iter().enumerate() {
        let row = weights.row(p, output).chunks(plane.products * T::BYTES);
        for (taps, row) in weights.taps.chunks(plane.products).zip(row) {
            // SAFETY: the caller upholds this function's safety contract.
            let sums = unsafe { some::<T, S, SIGNED>(window, taps, row, 0) };
            for (to, sum) in wide.iter_mut().zip(sums) {
                *to = to.wrapping_add(i64::from(sum) << plane.shift);
            }
        }
    }
    wide
}
