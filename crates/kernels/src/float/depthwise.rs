//! Convolution with one input channel per group. It needs no matrix product: each output is the sum of a few products,
//! and neighbouring outputs of a row are computed at once. Products are added in the same order as in
//! [`conv`](super::conv()), so the results have the same bits.

use super::gemm::BLOCK;
use crate::context::Context;
use crate::simd::Job;
use crate::{
    parallel::for_each_chunk,
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
    for_each_chunk(out, per_channel * layout.positions(), steps, |index, out| {
        let channel = index % conv.input.channels;
        let image = &input[index * conv.input.plane()..(index + 1) * conv.input.plane()];
        let mut padded = vec![0.0; layout.plane + SLACK];
        layout.pad_plane(image, 0.0, &mut padded[..layout.plane]);
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
    });
}

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
        let lanes = S::F32s::LANES;
        let [_, width] = self.layout.output;
        for (y, out) in self.out.chunks_exact_mut(width).enumerate() {
            let row = &self.image[y * self.layout.row_step()..];
            let mut edge = [0.0; SLACK];
            for x in (0..width).step_by(lanes) {
                let to = match out[x..].len() {
                    left if left >= lanes => &mut out[x..x + lanes],
                    _ => &mut edge[..],
                };
                // SAFETY: this code is compiled for `S` and only runs on machines that have it. The last tap of the
                // last output of a row is inside the image, and at most `lanes − 1 < SLACK` elements beyond it are
                // read. `to` has at least `lanes` elements.
                unsafe {
                    let mut sum = S::F32s::splat(self.bias);
                    for (taps, weights) in self.taps.chunks(BLOCK).zip(self.weights.chunks(BLOCK)) {
                        let mut chain = S::F32s::splat(0.0);
                        for (&tap, &weight) in taps.iter().zip(weights) {
                            debug_assert!(tap + x + lanes <= row.len());
                            chain = chain.add_product(weight, S::F32s::load(row.as_ptr().add(tap + x)));
                        }
                        sum = sum.add_product(1.0, chain);
                    }
                    sum.store(to.as_mut_ptr());
                }
                if out[x..].len() < lanes {
                    let left = width - x;
                    out[x..].copy_from_slice(&edge[..left]);
                }
            }
        }
    }
}
