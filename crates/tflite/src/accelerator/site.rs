//! An operator with its tensors and options, as the rules look at it.

use crate::graph::{Graph, Node, Tensor};
use crate::names::type_name;
use crate::schema::{BuiltinOptions, Padding};

/// An operator with its tensors and options.
pub(super) struct Site<'a> {
    pub(super) inputs: Vec<Option<&'a Tensor>>,
    /// The operands and results that are feature maps, and not parameters such as axes.
    pub(super) features: Vec<&'a Tensor>,
    pub(super) outputs: Vec<&'a Tensor>,
    pub(super) options: Option<BuiltinOptions<'a>>,
}

/// The window of a convolution or a pool. Pairs are height and width.
pub(super) struct Window {
    pub(super) kernel: [i64; 2],
    pub(super) strides: [i64; 2],
    pub(super) dilations: [i64; 2],
    pub(super) is_valid: bool,
}

impl<'a> Site<'a> {
    /// `is_feature` says of the position of an operand whether the operand is a feature map.
    pub(super) fn of(graph: &'a Graph<'a>, node: &Node<'a>, is_feature: impl Fn(usize) -> bool) -> Site<'a> {
        let tensor = |index: usize| &graph.tensors[index];
        let inputs: Vec<Option<&Tensor>> = node.inputs.iter().map(|index| index.map(tensor)).collect();
        let outputs: Vec<&Tensor> = node.outputs.iter().flatten().copied().map(tensor).collect();
        let operands = inputs.iter().enumerate().filter(|(at, _)| is_feature(*at));
        Site {
            features: operands
                .filter_map(|(_, tensor)| *tensor)
                .chain(outputs.iter().copied())
                .collect(),
            inputs,
            outputs,
            options: node.view.builtin_options().ok().flatten(),
        }
    }

    pub(super) fn input(&self, at: usize) -> Option<&'a Tensor> {
        self.inputs.get(at).copied().flatten()
    }

    pub(super) fn output(&self) -> Option<&'a Tensor> {
        self.outputs.first().copied()
    }

    /// The window of a convolution or a pool. An extent that is not a number counts as 0.
    pub(super) fn window(&self) -> Option<Window> {
        let kernel = self.input(1).map(Tensor::extents);
        let of_weights = || {
            let kernel = kernel.as_ref();
            [1, 2].map(|axis| kernel.and_then(|kernel| kernel.get(axis).copied()).unwrap_or_default())
        };
        let number = |number: planus::Result<i32>| i64::from(number.unwrap_or_default());
        let (kernel, strides, dilations, padding) = match self.options.as_ref()? {
            BuiltinOptions::Conv2DOptions(options) => (
                of_weights(),
                [options.stride_h(), options.stride_w()],
                [options.dilation_h_factor(), options.dilation_w_factor()],
                options.padding(),
            ),
            BuiltinOptions::DepthwiseConv2DOptions(options) => (
                of_weights(),
                [options.stride_h(), options.stride_w()],
                [options.dilation_h_factor(), options.dilation_w_factor()],
                options.padding(),
            ),
            BuiltinOptions::TransposeConvOptions(options) => (
                of_weights(),
                [options.stride_h(), options.stride_w()],
                [Ok(1), Ok(1)],
                options.padding(),
            ),
            BuiltinOptions::Pool2DOptions(options) => (
                [options.filter_height(), options.filter_width()].map(number),
                [options.stride_h(), options.stride_w()],
                [Ok(1), Ok(1)],
                options.padding(),
            ),
            _ => return None,
        };
        Some(Window {
            kernel,
            strides: strides.map(number),
            dilations: dilations.map(number),
            is_valid: padding.is_ok_and(|padding| padding == Padding::Valid),
        })
    }
}

impl Tensor {
    /// The name of the element type, such as `INT8`.
    pub(super) fn type_name(&self) -> &'static str {
        type_name(self.elem).unwrap_or("an unknown type")
    }

    pub(super) fn extents(&self) -> Vec<i64> {
        self.shape.iter().copied().map(i64::from).collect()
    }

    /// The extents of the last three axes: height, width and channels. Missing ones are 1.
    pub(super) fn image(&self) -> [i64; 3] {
        let extents = self.extents();
        let from_last = |back: usize| extents.len().checked_sub(back).map_or(1, |at| extents[at]);
        [from_last(3), from_last(2), from_last(1)]
    }

    /// The elements of a constant of 32-bit integers.
    pub(super) fn ints(&self) -> Option<Vec<i32>> {
        let bytes = self.data.as_ref().filter(|_| self.type_name() == "INT32")?;
        Some(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|chunk| i32::from_le_bytes(*chunk))
                .collect(),
        )
    }
}
