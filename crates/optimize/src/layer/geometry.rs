//! Which elements of its input a layer reads for one position of its result.

use super::positions::Positions;
use strait_core::{Node, Op};

/// The products of a layer: a convolution, or a matrix product with constant weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Geometry {
    /// Σ over the channels of a group and the taps of a window.
    Window {
        groups: usize,
        /// Outputs and inputs of one group.
        channels: [usize; 2],
        kernel: Vec<usize>,
        stride: Vec<usize>,
        dilation: Vec<usize>,
        /// Padding before each axis.
        pad: Vec<usize>,
    },
    /// Σ over the last axis.
    Rows {
        /// Outputs and inputs.
        channels: [usize; 2],
        /// True if the weights are `[inputs, outputs]`.
        transposed: bool,
    },
}

impl Geometry {
    /// Returns the geometry of a node with weights of this shape, or why codes cannot be chosen for such a node.
    pub(crate) fn of(node: &Node, weights: &[u64]) -> Result<Geometry, &'static str> {
        let sizes = |of: &[u32]| of.iter().map(|&size| size as usize).collect::<Vec<_>>();
        match &node.op {
            Op::Conv(conv) => {
                let groups = conv.groups as usize;
                let [outputs, inputs, kernel @ ..] = weights else {
                    return Err("its weights have no window");
                };
                Ok(Geometry::Window {
                    groups,
                    channels: [*outputs as usize / groups.max(1), *inputs as usize],
                    kernel: kernel.iter().map(|&extent| extent as usize).collect(),
                    stride: sizes(&conv.stride),
                    dilation: sizes(&conv.dilation),
                    pad: sizes(&conv.pad[..kernel.len().min(conv.pad.len())]),
                })
            }
            Op::Gemm(gemm) if gemm.transpose_a => Err("its activations are transposed"),
            Op::Gemm(gemm) if (gemm.alpha, gemm.beta) != (1.0, 1.0) => Err("its product or its bias has a factor"),
            Op::Gemm(gemm) => {
                let &[first, second] = weights else {
                    return Err("its weights are no matrix");
                };
                let channels = match gemm.transpose_b {
                    true => [first, second],
                    false => [second, first],
                };
                Ok(Geometry::Rows {
                    channels: channels.map(|extent| extent as usize),
                    transposed: !gemm.transpose_b,
                })
            }
            _ => Err("only the weights of convolutions and matrix products are chosen"),
        }
    }

    /// The number of groups that are independent of each other.
    pub(crate) fn groups(&self) -> usize {
        match self {
            Geometry::Window { groups, .. } => *groups,
            Geometry::Rows { .. } => 1,
        }
    }

    /// The number of outputs of one group.
    pub(crate) fn outputs(&self) -> usize {
        match self {
            Geometry::Window { channels, .. } | Geometry::Rows { channels, .. } => channels[0],
        }
    }

    /// The number of inputs of one output.
    pub(crate) fn width(&self) -> usize {
        match self {
            Geometry::Window { channels, kernel, .. } => channels[1] * kernel.iter().product::<usize>(),
            Geometry::Rows { channels, .. } => channels[1],
        }
    }

    /// For each weight of a group, output by output, its index in the tensor of weights.
    pub(crate) fn weights(&self, group: usize) -> Vec<usize> {
        let (outputs, width) = (self.outputs(), self.width());
        match self {
            Geometry::Rows { transposed: true, .. } => {
                let index = |output| (0..width).map(move |input| input * outputs + output);
                (0..outputs).flat_map(index).collect()
            }
            _ => (group * outputs * width..(group + 1) * outputs * width).collect(),
        }
    }

    /// The number of positions of a result with this shape.
    pub(crate) fn positions(&self, result: &[usize]) -> usize {
        match self {
            Geometry::Window { .. } => result.iter().product::<usize>() / result.get(1).copied().unwrap_or(1).max(1),
            Geometry::Rows { channels, .. } => result.iter().product::<usize>() / channels[0].max(1),
        }
    }

    /// Adds one position to the positions of each group. `x` and `y` are the input and the result of the layer, each with
    /// its shape. Elements in the padding are zero.
    pub(crate) fn gather(
        &self,
        position: usize,
        (x, x_shape): (&[f32], &[usize]),
        (y, y_shape): (&[f32], &[usize]),
        groups: &mut [Positions],
    ) {
        match self {
            Geometry::Rows {
                channels: [outputs, inputs],
                ..
            } => {
                if let Some(group) = groups.first_mut() {
                    group.x.extend(x.chunks(*inputs).nth(position).unwrap_or_default());
                    group.y.extend(y.chunks(*outputs).nth(position).unwrap_or_default());
                }
            }
            Geometry::Window {
                channels: [outputs, inputs],
                kernel,
                stride,
                dilation,
                pad,
                ..
            } => {
                let inside: usize = y_shape.get(2..).map_or(1, |shape| shape.iter().product());
                let plane: usize = x_shape.get(2..).map_or(1, |shape| shape.iter().product());
                let (sample, mut rest) = (position / inside.max(1), position % inside.max(1));
                let at = rest;
                // The first element of the window along each axis, from the last axis to the first one.
                let mut starts = vec![0isize; kernel.len()];
                for axis in (0..kernel.len()).rev() {
                    let extent = y_shape.get(axis + 2).copied().unwrap_or(1).max(1);
                    starts[axis] = (rest % extent * stride[axis]) as isize - pad[axis] as isize;
                    rest /= extent;
                }
                let taps: usize = kernel.iter().product();
                let tap = |tap: usize| {
                    let (mut rest, mut offset, mut scale) = (tap, 0, 1);
                    for axis in (0..kernel.len()).rev() {
                        let index = starts[axis] + (rest % kernel[axis] * dilation[axis]) as isize;
                        rest /= kernel[axis];
                        let extent = x_shape.get(axis + 2).copied().unwrap_or(1);
                        offset += usize::try_from(index).ok().filter(|&index| index < extent)? * scale;
                        scale *= extent;
                    }
                    Some(offset)
                };
                let taps: Vec<Option<usize>> = (0..taps).map(tap).collect();
                let all = [inputs * groups.len(), outputs * groups.len()];
                for (at_group, group) in groups.iter_mut().enumerate() {
                    for channel in 0..*inputs {
                        let first = (sample * all[0] + at_group * inputs + channel) * plane;
                        let element = |tap: &Option<usize>| tap.and_then(|tap| x.get(first + tap).copied());
                        group.x.extend(taps.iter().map(|tap| element(tap).unwrap_or(0.0)));
                    }
                    let first = sample * all[1] + at_group * outputs;
                    let result = |output: usize| y.get((first + output) * inside + at).copied().unwrap_or(0.0);
                    group.y.extend((0..*outputs).map(result));
                }
            }
        }
    }
}
