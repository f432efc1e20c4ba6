//! Maximum of codes over windows.

use super::operands::{Prepared, codes};
use crate::float::conv_transpose::{behind, wide};
use crate::float::volume;
use crate::prelude::*;
use crate::window;
use strait_kernels::integer::max_pool;
use strait_kernels::{Images, Pool, Window};
use strait_requantize::IntType;

/// Prepares a pool over three axes as two pools. The first pools rows and columns inside of each layer. The second
/// pools the results of the first across layers, and treats each layer as a row.
fn three_axes(op: &op::MaxPool, site: &NodeSlots<'_>, element: IntType) -> Result<Box<dyn Step>, StepError> {
    let (x, y) = (&site.input(0)?.dims, &site.output()?.dims);
    let (&[batch, channels, depth, height, width], &[_, _, made, rows, columns]) = (&x[..], &y[..]) else {
        return Err(StepError::Model(format!("a pool of rank {} over three axes", x.len())));
    };
    let (kernel, stride) = (behind(&wide(&op.size), 1)?, behind(&wide(&op.stride), 1)?);
    let dilation = behind(&wide(&op.dilation), 1)?;
    let (begins, ends) = op.pad.split_at(op.pad.len() / 2);
    let (begin, end) = (behind(&wide(begins), 0)?, behind(&wide(ends), 0)?);
    let planes = Pool {
        window: Window {
            kernel: [kernel[1], kernel[2]],
            stride: [stride[1], stride[2]],
            dilation: [dilation[1], dilation[2]],
            pads: [begin[1], begin[2], end[1], end[2]],
        },
        input: Images {
            batch: batch * channels,
            channels: depth,
            size: [height, width],
        },
        output: [rows, columns],
    };
    let layers = Pool {
        window: Window {
            kernel: [kernel[0], 1],
            stride: [stride[0], 1],
            dilation: [dilation[0], 1],
            pads: [begin[0], 0, end[0], 0],
        },
        input: Images {
            batch,
            channels,
            size: [depth, rows * columns],
        },
        output: [made, rows * columns],
    };
    let between = batch * channels * depth * rows * columns * usize::from(element.bits().div_ceil(8));
    Ok(reading(1, move |io| {
        let mut maxima = vec![0u8; between];
        max_pool(io.context, &planes, element, io.input(0)?, &mut maxima)?;
        Ok(max_pool(io.context, &layers, element, &maxima, io.output()?)?)
    }))
}

pub(crate) fn prepare(op: &op::MaxPool, site: &NodeSlots<'_>) -> Prepared {
    if let (true, Some(element), None) = (volume::applies(site), codes(site.input(0)?), &site.fused) {
        return three_axes(op, site, element).map(Some);
    }
    let pool = window::pool(site, &op.size, &op.stride, &op.dilation, &op.pad);
    let (Some(element), Ok(pool), None) = (codes(site.input(0)?), pool, &site.fused) else {
        return Ok(None);
    };
    Ok(Some(step(pool, element)))
}

/// Returns a step that computes the maximum over windows with one or two axes.
pub(super) fn step(pool: Pool, element: IntType) -> Box<dyn Step> {
    reading(1, move |io| {
        Ok(max_pool(io.context, &pool, element, io.input(0)?, io.output()?)?)
    })
}
