//! Computes convolutions over three spatial axes one layer of the result at a time.
//!
//! A layer is an image at one position along the first spatial axis. Each layer of the result is computed by a
//! convolution over two axes. All layers of the operand that the taps read are channels of this convolution. The
//! weights do not have to be moved, because their channel axis and first kernel axis are neighbours.

use crate::error::StepError;
use crate::float::conv_transpose::{behind, wide};
use crate::site::NodeSlots;
use strait_core::op;
use strait_kernels::{Conv, Images, Window};

/// A convolution over three axes, as one convolution over two axes for each layer.
pub(crate) struct Layers {
    /// The convolution that computes one layer of the result for one image.
    pub(crate) layer: Conv,
    batch: usize,
    channels: usize,
    /// The number of layers of the operand, the number of layers of the result, and the number of taps along the
    /// layers.
    depth: [usize; 3],
    stride: usize,
    dilation: usize,
    begin: usize,
}

impl Layers {
    /// Splits a convolution over three axes.
    ///
    /// # Errors
    /// [`StepError::Model`] if operand and weights do not have three spatial axes.
    pub(crate) fn new(op: &op::Conv, site: &NodeSlots<'_>) -> Result<Layers, StepError> {
        let (x, weight, y) = (&site.input(0)?.dims, &site.input(1)?.dims, &site.output()?.dims);
        let (&[batch, channels, depth, height, width], &[outputs, _, taps, rows, columns]) = (&x[..], &weight[..])
        else {
            return Err(StepError::Model(format!(
                "a convolution of rank {} over three axes",
                x.len()
            )));
        };
        let (stride, dilation) = (behind(&wide(&op.stride), 1)?, behind(&wide(&op.dilation), 1)?);
        let (begins, ends) = op.pad.split_at(op.pad.len() / 2);
        let (begin, end) = (behind(&wide(begins), 0)?, behind(&wide(ends), 0)?);
        Ok(Layers {
            layer: Conv {
                window: Window {
                    kernel: [rows, columns],
                    stride: [stride[1], stride[2]],
                    dilation: [dilation[1], dilation[2]],
                    pads: [begin[1], begin[2], end[1], end[2]],
                },
                input: Images {
                    batch: 1,
                    channels: channels * taps,
                    size: [height, width],
                },
                out_channels: outputs,
                groups: op.groups as usize,
            },
            batch,
            channels,
            depth: [depth, y[2], taps],
            stride: stride[0],
            dilation: dilation[0],
            begin: begin[0],
        })
    }

    /// Computes the result layer by layer. For each layer of the result, gathers the layers of the operand from which
    /// it is computed, calls `convolve`, and stores the layer. `convolve` gets the gathered layers and a buffer. It
    /// computes the convolution [`Layers::layer`] and writes the result into the buffer. `T` is the type of an element,
    /// or `u8` if elements are moved as bytes. `pad` is one padding element, as one or several `T`.
    ///
    /// # Errors
    /// The errors of `convolve`.
    pub(crate) fn each<T: Copy>(
        &self,
        pad: &[T],
        x: &[T],
        out: &mut [T],
        mut convolve: impl FnMut(&[T], &mut [T]) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        let [depth, layers, taps] = self.depth;
        let [height, width] = self.layer.input.size;
        let plane = height * width * pad.len();
        let outputs = self.layer.out_channels;
        let made = out.len() / (self.batch * layers * outputs).max(1);
        let mut read = pad.repeat(self.channels * taps * height * width);
        let mut result: Vec<T> = out.get(..outputs * made).unwrap_or_default().to_vec();
        for image in 0..self.batch {
            for layer in 0..layers {
                for (index, to) in read.chunks_exact_mut(plane.max(1)).enumerate() {
                    let (channel, tap) = (index / taps, index % taps);
                    let at = (layer * self.stride + tap * self.dilation).checked_sub(self.begin);
                    match at.filter(|&at| at < depth) {
                        Some(at) => {
                            let from = ((image * self.channels + channel) * depth + at) * plane;
                            to.copy_from_slice(&x[from..from + plane]);
                        }
                        None => to.chunks_exact_mut(pad.len()).for_each(|to| to.copy_from_slice(pad)),
                    }
                }
                convolve(&read, &mut result)?;
                for (channel, from) in result.chunks_exact(made.max(1)).enumerate() {
                    let to = ((image * outputs + channel) * layers + layer) * made;
                    out[to..to + made].copy_from_slice(from);
                }
            }
        }
        Ok(())
    }
}
