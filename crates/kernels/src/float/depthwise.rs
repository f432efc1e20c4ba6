//! Convolution with one input channel per group. It needs no matrix product: each output is the sum of a few products,
//! and neighbouring outputs of a row are computed at once. Products are added in the same order as in
//! [`conv`](super::conv()), so the results have the same bits.

use super::gemm::BLOCK;
use crate::context::Context;
use crate::simd::Job;
use crate::{
    parallel::{for_each_chunk, threads},
    simd::{F32s, Simd},
    window::{Conv, Layout},
};

/// Computes the convolution. The caller has checked that the slices fit `conv`, and that none of them is empty.
pub(super) fn depthwise(
    cx: &Context,
    conv: &Conv,
    layout: &Layout,
    input: &[f32],
    weights: &[f32],
    bias: Option<&[f32]>,
    out: &mut [f32],
) {
    let taps = layout.tap_offsets(1);
    let per_channel = conv.out_channels / conv.input.channels;
    let steps = out.len().saturating_mul(taps.len());
    let of_plane = per_channel * layout.positions();
    let planes = (out.len() / of_plane / (TASKS * threads())).clamp(1, PLANES);
    for_each_chunk(out, planes * of_plane, steps, |index, out| {
        let mut padded = vec![0.0; layout.plane + SLACK];
        for (plane, out) in out.chunks_exact_mut(of_plane).enumerate() {
            let plane = index * planes + plane;
            let image = &input[plane * conv.input.plane()..(plane + 1) * conv.input.plane()];
            layout.place_plane(image, &mut padded[..layout.plane]);
            let channel = plane % conv.input.channels;
            for (o, out) in out.chunks_exact_mut(layout.positions()).enumerate() {
                let o = channel * per_channel + o;
                let weights = &weights[o * taps.len()..(o + 1) * taps.len()];
                cx.run(PlaneTask {
                    layout,
                    image: &padded,
                    taps: &taps,
                    weights,
                    bias: bias.map_or(0.0, |b| b[o]),
                    out,
                });
            }
        }
    });
}

/// At most so many planes of the input are padded one after the other in the same memory.
const PLANES: usize = 8;

/// With fewer tasks for each thread, threads would wait for the last ones.
const TASKS: usize = 4;

/// Number of elements that exist in memory after the padded image, because a vector may read past the end of the last
/// row. It is the number of lanes of the widest vector.
const SLACK: usize = 16;

struct PlaneTask<'a> {
    layout: &'a Layout,
    /// The padded image: `layout.plane` elements and `SLACK` more.
    image: &'a [f32],
    taps: &'a [usize],
    weights: &'a [f32],
    bias: f32,
    out: &'a mut [f32],
}

impl Job for PlaneTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let [_, width] = self.layout.output;
        let (step, mut y) = (self.layout.row_step(), 0);
        // The chain of one vector waits for each of its products, so several rows are computed at once.
        let mut several = self.out.chunks_exact_mut(TOGETHER * width);
        for out in &mut several {
            rows::<S::F32s, TOGETHER>(&self.image[y * step..], step, (self.taps, self.weights, self.bias), out);
            y += TOGETHER;
        }
        for out in several.into_remainder().chunks_exact_mut(width) {
            rows::<S::F32s, 1>(&self.image[y * step..], step, (self.taps, self.weights, self.bias), out);
            y += 1;
        }
    }
}

/// The number of rows that are computed at once.
const TOGETHER: usize = 4;

/// Computes `ROWS` rows of the output. `image` begins at the first one's first tap, and `step` is the distance to the next
/// row's.
#[inline(always)]
fn rows<V: F32s, const ROWS: usize>(
    image: &[f32],
    step: usize,
    (taps, weights, bias): (&[usize], &[f32], f32),
    out: &mut [f32],
) {
    let width = out.len() / ROWS;
    for x in (0..width).step_by(V::LANES) {
        let count = V::LANES.min(width - x);
        // SAFETY: this code runs only on machines that have the instruction set of `V`. The last tap of the last output of
        // a row is inside the image, and at most `LANES − 1 < SLACK` elements beyond it are read. A store writes `LANES`
        // elements of the output or of `edge`.
        unsafe {
            let mut sums = [V::splat(bias); ROWS];
            for (taps, weights) in taps.chunks(BLOCK).zip(weights.chunks(BLOCK)) {
                let mut chains = [V::splat(0.0); ROWS];
                for (&tap, &weight) in taps.iter().zip(weights) {
                    debug_assert!((ROWS - 1) * step + tap + x + V::LANES <= image.len());
                    for (r, chain) in chains.iter_mut().enumerate() {
                        *chain = chain.add_product(weight, V::load(image.as_ptr().add(r * step + tap + x)));
                    }
                }
                for (sum, chain) in sums.iter_mut().zip(chains) {
                    *sum = sum.add_product(1.0, chain);
                }
            }
            for (r, sum) in sums.into_iter().enumerate() {
                let to = &mut out[r * width + x..][..count];
                if count == V::LANES {
                    sum.store(to.as_mut_ptr());
                } else {
                    let mut edge = [0.0; SLACK];
                    sum.store(edge.as_mut_ptr());
                    to.copy_from_slice(&edge[..count]);
                }
            }
        }
    }
}
