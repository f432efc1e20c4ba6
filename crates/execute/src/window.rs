//! Converts windows and images from attributes and extents to the types of the kernels.

use crate::error::StepError;
use crate::site::NodeSlots;
use strait_core::op;
use strait_kernels::{Images, Pool, Window};

/// Reads the extents of images from `dims`: batch, channels, and one or two spatial extents. If there is only one
/// spatial extent, the height is 1.
pub(crate) fn images(dims: &[usize]) -> Result<Images, StepError> {
    match *dims {
        [batch, channels, width] => Ok(Images {
            batch,
            channels,
            size: [1, width],
        }),
        [batch, channels, height, width] => Ok(Images {
            batch,
            channels,
            size: [height, width],
        }),
        _ => Err(StepError::Unsupported(format!(
            "windows over {} spatial axes",
            dims.len().saturating_sub(2)
        ))),
    }
}

/// Makes a window from lists with one entry per spatial axis. `pad` has the padding before each axis, then the padding
/// after each axis.
pub(crate) fn window(kernel: &[usize], stride: &[u32], dilation: &[u32], pad: &[u32]) -> Result<Window, StepError> {
    let two = |list: &[u32], missing: usize| match *list {
        [x] => Ok([missing, x as usize]),
        [y, x] => Ok([y as usize, x as usize]),
        _ => Err(StepError::Unsupported(format!(
            "windows over {} spatial axes",
            list.len()
        ))),
    };
    let (begins, ends) = pad.split_at(pad.len() / 2);
    let ([top, left], [bottom, right]) = (two(begins, 0)?, two(ends, 0)?);
    let kernel = match *kernel {
        [width] => [1, width],
        [height, width] => [height, width],
        _ => {
            return Err(StepError::Unsupported(format!(
                "windows over {} spatial axes",
                kernel.len()
            )));
        }
    };
    Ok(Window {
        kernel,
        stride: two(stride, 1)?,
        dilation: two(dilation, 1)?,
        pads: [top, left, bottom, right],
    })
}

/// Makes a pool from the attributes of an op. The output extents are those of the node's result: shape inference has
/// already rounded the number of windows up or down.
pub(crate) fn pool(
    site: &NodeSlots<'_>,
    size: &[u32],
    stride: &[u32],
    dilation: &[u32],
    pad: &[u32],
) -> Result<Pool, StepError> {
    let kernel: Vec<usize> = size.iter().map(|&extent| extent as usize).collect();
    Ok(Pool {
        window: window(&kernel, stride, dilation, pad)?,
        input: images(&site.input(0)?.dims)?,
        output: images(&site.output()?.dims)?.size,
    })
}

/// Returns a global pool: its window is the whole image.
pub(crate) fn global(site: &NodeSlots<'_>) -> Result<Pool, StepError> {
    let x = &site.input(0)?.dims;
    // A global pool covers all axes after the channels, so they are treated as a single row.
    let [batch, channels, spatial @ ..] = &x[..] else {
        return Err(StepError::Model(format!("a global pool of rank {}", x.len())));
    };
    let size = match *spatial {
        [height, width] => [height, width],
        _ => [1, spatial.iter().product()],
    };
    Ok(Pool {
        window: Window::new(size),
        input: Images {
            batch: *batch,
            channels: *channels,
            size,
        },
        output: [1, 1],
    })
}

/// Returns the window of a convolution, and the extents of its operand.
pub(crate) fn conv(op: &op::Conv, site: &NodeSlots<'_>) -> Result<strait_kernels::Conv, StepError> {
    let weight = &site.input(1)?.dims;
    Ok(strait_kernels::Conv {
        window: window(weight.get(2..).unwrap_or(&[]), &op.stride, &op.dilation, &op.pad)?,
        input: images(&site.input(0)?.dims)?,
        out_channels: weight.first().copied().unwrap_or(0),
        groups: op.groups as usize,
    })
}
