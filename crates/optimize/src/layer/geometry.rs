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

    /// For each input of an output of a group, the channel that it belongs to.
    pub(crate) fn channels_of_inputs(&self, group: usize) -> Vec<usize> {
        match self {
            Geometry::Rows { channels, .. } => (0..channels[1]).collect(),
            Geometry::Window { channels, kernel, .. } => {
                let taps = kernel.iter().product::<usize>().max(1);
                let first = group * channels[1];
                (0..self.width()).map(|input| first + input / taps).collect()
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::text::parse;
    use strait_execute::{Plan, PlanOptions, Tensor, Threads, Workspace};

    /// Runs a layer with whole numbers, and compares each position of its result with the products of what is gathered.
    fn check(node: &str, x: &[usize], weights: &[usize]) {
        let shape = |shape: &[usize]| shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let numbers = |count: usize, step: usize| -> Vec<f32> {
            (0..count).map(|at| ((at * step + at / 5) % 13) as f32 - 6.0).collect()
        };
        let (x_numbers, w_numbers) = (numbers(x.iter().product(), 7), numbers(weights.iter().product(), 5));
        let inline: Vec<String> = w_numbers.iter().map(|number| format!("{number:.1}")).collect();
        let text = format!(
            "strait 1 float\ngraph @main(%x: f32[{}]) {{\n  {node}\n  return %y\n}}\ndata @w: f32[{}] = inline [{}]\n",
            shape(x),
            shape(weights),
            inline.join(",")
        );
        let module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let (_, node) = module.main().nodes().next().unwrap();
        let whole: Vec<u64> = weights.iter().map(|&extent| extent as u64).collect();
        let geometry = Geometry::of(node, &whole).unwrap();
        let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
        let tensor = Tensor::from_values(x, &x_numbers).unwrap();
        let y = plan
            .run(&mut Workspace::new(&plan, &Threads::one()), &[tensor.view()])
            .unwrap()
            .remove(0);
        let mut groups = vec![Positions::new([geometry.width(), geometry.outputs()], 0); geometry.groups()];
        let count = geometry.positions(y.shape());
        for position in 0..count {
            let y = (y.values::<f32>().unwrap(), y.shape());
            geometry.gather(position, (&x_numbers, x), y, &mut groups);
        }
        let mut seen = 0;
        for (at, group) in groups.iter().enumerate() {
            let own: Vec<f32> = geometry.weights(at).iter().map(|&index| w_numbers[index]).collect();
            assert_eq!(group.count(), count);
            for (x, y) in group.x.chunks(group.width).zip(group.y.chunks(group.outputs)) {
                for (weights, y) in own.chunks(group.width).zip(y) {
                    let sum: f32 = weights.iter().zip(x).map(|(weight, x)| weight * x).sum();
                    assert_eq!(sum, *y);
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, y.values::<f32>().unwrap().len());
    }

    #[test]
    fn what_is_gathered_gives_the_results_of_the_layer() {
        let conv = |y: &str, stride: &str, pad: &str, dilation: &str, groups: usize| {
            format!(
                "%y: f32[{y}] = conv(%x, @w) {{stride=[{stride}], pad=[{pad}], dilation=[{dilation}], groups={groups}, pad_value=0}}"
            )
        };
        check(
            &conv("2,4,5,6", "1,1", "1,1,1,1", "1,1", 1),
            &[2, 3, 5, 6],
            &[4, 3, 3, 3],
        );
        check(
            &conv("1,6,3,4", "2,2", "0,1,2,1", "1,2", 3),
            &[1, 6, 6, 7],
            &[6, 2, 3, 2],
        );
        check(
            &conv("1,5,4,4", "1,1", "1,1,1,1", "1,1", 5),
            &[1, 5, 4, 4],
            &[5, 1, 3, 3],
        );
        check(&conv("1,3,7", "1", "2,2", "2", 1), &[1, 2, 7], &[3, 2, 3]);
        check(
            "%y: f32[2,3,5] = gemm(%x, @w) {transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0}",
            &[2, 3, 4],
            &[4, 5],
        );
        check(
            "%y: f32[3,5] = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}",
            &[3, 4],
            &[5, 4],
        );
    }
}
