//! Which channel's parameters requantize an element.

use crate::graph::Node;
use crate::ids::ValueId;
use crate::op::Op;

/// How the channel of an element is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// The channel of an element is its index along this axis.
    Axis(usize),
    /// A constant operand gives the channel of each element. The constant is i32, and its shape broadcasts to the
    /// result's shape. So channels do not have to be slices of a tensor: if a mean over windows leaves out the padding,
    /// one divisor is needed in the middle of an image, and others at its edges and corners.
    Picked(ValueId),
}

impl Op {
    /// The axis of the result along which the channels of a requantization run. The requantization is either fused into
    /// this op, or is this op. `None` if one set of parameters serves all elements.
    pub fn channel_axis(&self, rank: usize) -> Option<usize> {
        self.channels_among(rank).0
    }

    /// The position of the operand that picks channels, for ops that may have one.
    pub fn channel_operand(&self) -> Option<usize> {
        self.channels_among(0).1
    }

    /// The channel axis in a result of `rank` axes, and the position of the operand that picks channels. A new op has
    /// to state both.
    fn channels_among(&self, rank: usize) -> (Option<usize>, Option<usize>) {
        match self {
            Op::Conv(_) | Op::AveragePool(_) | Op::GlobalAveragePool(_) | Op::MaxPool(_) => (Some(1), None),
            Op::SumPool(_) => (Some(1), Some(1)),
            Op::Gemm(_) | Op::MatMul(_) => (rank.checked_sub(1), None),
            Op::Requantize(op) => (Some(op.axis as usize), Some(1)),
            Op::BatchNormalization(_)
            | Op::LayerNormalization(_)
            | Op::RmsNormalization(_)
            | Op::Add(_)
            | Op::Sub(_)
            | Op::Mul(_)
            | Op::Div(_)
            | Op::Pow(_)
            | Op::Relu(_)
            | Op::Clip(_)
            | Op::LeakyRelu(_)
            | Op::HardSigmoid(_)
            | Op::ConvTranspose(_)
            | Op::GridSample(_)
            | Op::DeformConv(_)
            | Op::Recurrent(_)
            | Op::RoiAlign(_)
            | Op::GatherElements(_)
            | Op::GatherNd(_)
            | Op::Scatter(_)
            | Op::ArgReduce(_)
            | Op::Cumulative(_)
            | Op::TopK(_)
            | Op::Det(_)
            | Op::Dft(_)
            | Op::Col2Im(_)
            | Op::Elu(_)
            | Op::Softmax(_)
            | Op::Reshape(_)
            | Op::Flatten(_)
            | Op::Squeeze(_)
            | Op::Unsqueeze(_)
            | Op::Transpose(_)
            | Op::Concat(_)
            | Op::Split(_)
            | Op::Slice(_)
            | Op::Pad(_)
            | Op::Resize(_)
            | Op::Gather(_)
            | Op::Expand(_)
            | Op::Select(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Cast(_)
            | Op::BitCast(_)
            | Op::Identity(_)
            | Op::Quantize(_)
            | Op::RoundTo(_)
            | Op::Dequantize(_)
            | Op::ShiftLeft(_)
            | Op::Lookup(_)
            | Op::Interpolate(_)
            | Op::IntegerResize(_)
            | Op::IntegerSoftmax(_)
            | Op::IntegerLayerNormalization(_)
            | Op::Clamp(_)
            | Op::Call(_)
            | Op::If(_)
            | Op::ShapeOf(_)
            | Op::Range(_)
            | Op::NonZero(_)
            | Op::Unique(_)
            | Op::NonMaxSuppression(_)
            | Op::Loop(_)
            | Op::Foreign(_)
            | Op::Unary(_)
            | Op::Reduce(_) => (None, None),
        }
    }
}

impl Node {
    /// The operand that picks channels, if there is one.
    pub fn picked_channels(&self) -> Option<ValueId> {
        self.inputs.get(self.op.channel_operand()?).copied().flatten()
    }

    /// How the channels of the first result's elements are found; the result has `rank` axes. `None` if one set of
    /// parameters serves all elements.
    pub fn channels(&self, rank: usize) -> Option<Channels> {
        match self.picked_channels() {
            Some(operand) => Some(Channels::Picked(operand)),
            None => self.op.channel_axis(rank).map(Channels::Axis),
        }
    }
}
