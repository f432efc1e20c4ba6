//! Convolution as a matrix product of the weights and the im2col matrix. The im2col matrix is packed strip by strip and
//! never exists as a whole.
//!
//! The inner dimension K of the product runs over the taps in the order channel, row, column. Padding elements are
//! multiplied as zeros.

use super::{
    columns::ImageColumns,
    depthwise::depthwise,
    gemm::{Bias, Product},
};
use crate::context::Context;
use crate::{
    error::{KernelError, expect_len, product},
    parallel::{Shared, for_each, for_each_chunk},
    window::{Conv, Layout},
};

/// `out[b, o, y, x] = bias[o] + Σ weights[o, c, i, j] · input[b, group(o) + c, y·stride + i·dilation − pad, …]`
///
/// `weights` is `[out_channels, channels/groups, height, width]`; `out` is `conv.output()`.
///
/// # Errors
/// [`KernelError::Shape`] if a slice does not have the extents of `conv`; [`KernelError::Size`] if an extent exceeds
/// the limits.
pub fn conv(
    cx: &Context,
    conv: &Conv,
    input: &[f32],
    weights: &[f32],
    bias: Option<&[f32]>,
    out: &mut [f32],
) -> Result<(), KernelError> {
    conv.check()?;
    let layout = Layout::new(conv.window, conv.input)?;
    let (groups, depth) = (conv.groups, conv.depth());
    expect_len("the input", input.len(), conv.input.elements())?;
    expect_len("the weights", weights.len(), product(&[conv.out_channels, depth]))?;
    expect_len("the output", out.len(), conv.output()?.elements())?;
    if let Some(bias) = bias {
        expect_len("the bias", bias.len(), Some(conv.out_channels))?;
    }
    if input.is_empty() || out.is_empty() {
        // There are no products to sum, so each output is its bias.
        let plane = layout.positions().max(1);
        out.chunks_mut(plane)
            .enumerate()
            .for_each(|(i, p)| p.fill(bias.map_or(0.0, |b| b[i % conv.out_channels])));
        return Ok(());
    }

    if conv.groups == conv.input.channels {
        depthwise(cx, conv, &layout, input, weights, bias, out);
        return Ok(());
    }
    let (group_channels, group_outputs) = (conv.input.channels / groups, conv.out_channels / groups);
    let taps = layout.tap_offsets(group_channels);
    let mut padded = if layout.in_place {
        Vec::new()
    } else {
        vec![0.0; conv.input.channels * layout.plane]
    };
    let out_image = conv.out_channels * layout.positions();
    let steps = out_image.saturating_mul(depth);
    let out = Shared::new(out);
    for (b, image) in input.chunks_exact(conv.input.image()).enumerate() {
        let image = if layout.in_place {
            image
        } else {
            for_each_chunk(&mut padded, layout.plane, conv.input.image(), |c, plane| {
                let source = &image[c * conv.input.plane()..(c + 1) * conv.input.plane()];
                layout.place_plane(source, plane);
            });
            &padded
        };
        let split = (group_outputs, layout.positions());
        let group = |g: usize| ImageColumns {
            image: &image[g * group_channels * layout.plane..(g + 1) * group_channels * layout.plane],
            taps: &taps,
            layout: &layout,
        };
        let columns: Vec<ImageColumns<'_>> = (0..groups).map(group).collect();
        let product = |g: usize| Product {
            m: split.0,
            n: split.1,
            k: depth,
            rows: &weights[g * group_outputs * depth..(g + 1) * group_outputs * depth],
            row_stride: depth,
            columns: &columns[g],
            bias: bias.map_or(Bias::Zero, |b| {
                Bias::Rows(&b[g * group_outputs..(g + 1) * group_outputs])
            }),
        };
        let parts = product(0).split();
        for_each(groups * parts.tasks(), steps, &|task| {
            let (g, task) = (task / parts.tasks(), task % parts.tasks());
            let base = b * out_image + g * group_outputs * layout.positions();
            product(g).part(cx, parts.part(task), &out, base);
        });
    }
    Ok(())
}
