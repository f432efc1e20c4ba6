//! Maximum of codes over windows.

use super::operands::{Prepared, codes};
use crate::float::conv_transpose::{behind, wide};
use crate::float::volume;
use crate::prelude::*;
use crate::window;
use strait_kernels::integer::max_pool;
use strait_kernels::{Images, Pool, Window};
use strait_requantize::IntType;

pub(super) struct MaxPool {
    pub(super) pool: Pool,
    pub(super) element: IntType,
}

/// A maximum over windows with three axes: first over the last two of them, and then over the first axis of these
/// maxima.
struct VolumePool {
    planes: Pool,
    depth: Pool,
    element: IntType,
    /// Number of bytes of the maxima of the first stage.
    between: usize,
}

/// Prepares two pools: one over each layer, and one over the layers of the first pool's results. The second pool treats
/// each layer as one row.
fn three_axes(op: &op::MaxPool, site: &NodeSlots<'_>, element: IntType) -> Result<VolumePool, StepError> {
    let (x, y) = (&site.input(0)?.dims, &site.output()?.dims);
    let (&[batch, channels, depth, height, width], &[_, _, layers, rows, columns]) = (&x[..], &y[..]) else {
        return Err(StepError::Model(format!("a pool of rank {} over three axes", x.len())));
    };
    let (kernel, stride) = (behind(&wide(&op.size), 1)?, behind(&wide(&op.stride), 1)?);
    let dilation = behind(&wide(&op.dilation), 1)?;
    let (begins, ends) = op.pad.split_at(op.pad.len() / 2);
    let (begin, end) = (behind(&wide(begins), 0)?, behind(&wide(ends), 0)?);
    Ok(VolumePool {
        planes: Pool {
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
        },
        depth: Pool {
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
            output: [layers, rows * columns],
        },
        element,
        between: batch * channels * depth * rows * columns * usize::from(element.bits().div_ceil(8)),
    })
}

impl Step for VolumePool {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let mut between = vec![0u8; self.between];
        let context = io.context;
        max_pool(context, &self.planes, self.element, io.input(0)?, &mut between)?;
        Ok(max_pool(context, &self.depth, self.element, &between, io.output()?)?)
    }
}

pub(crate) fn prepare(op: &op::MaxPool, site: &NodeSlots<'_>) -> Prepared {
    if let (true, Some(element), None) = (volume::applies(site), codes(site.input(0)?), &site.fused) {
        return Ok(Some(Box::new(three_axes(op, site, element)?)));
    }
    let pool = window::pool(site, &op.size, &op.stride, &op.dilation, &op.pad);
    let (Some(element), Ok(pool), None) = (codes(site.input(0)?), pool, &site.fused) else {
        return Ok(None);
    };
    Ok(Some(Box::new(MaxPool { pool, element })))
}

impl Step for MaxPool {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(max_pool(
            io.context,
            &self.pool,
            self.element,
            io.input(0)?,
            io.output()?,
        )?)
    }
}
