//! Zero points that ops carry: the codes of real zero of their operands.

use crate::attribute::{Attribute, Field};
use crate::op::Op;
use smallvec::{SmallVec, smallvec};
use strait_requantize::Per;

/// The code of real zero of an operand, as an op carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zero {
    /// The position of the operand.
    pub operand: usize,
    /// The code; 0 if the operand is float.
    pub code: i32,
    /// True if padding elements are this code.
    pub pads: bool,
}

/// Zero points of the constant weights of a product: one for all, or one for each output channel. In float they are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightZero(pub Per<i32>);

impl WeightZero {
    /// The zero point for the weights of an output channel; 0 beyond the last one.
    pub fn of(&self, output: usize) -> i32 {
        self.0.get(output).copied().unwrap_or(0)
    }

    /// True if all zero points are 0, so that codes are the weights themselves.
    pub fn is_zero(&self) -> bool {
        self.0.all(|&zero| zero == 0)
    }
}

impl Default for WeightZero {
    fn default() -> Self {
        WeightZero(Per::Tensor(0))
    }
}

impl Field for WeightZero {
    fn to_attribute(&self) -> Attribute {
        self.0.to_attribute()
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        Per::from_attribute(attribute).map(WeightZero)
    }
    fn allowed() -> String {
        <Per<i32> as Field>::allowed()
    }
    fn implied() -> Option<Self> {
        Some(WeightZero::default())
    }
}

impl Op {
    /// The zero points of constant weights, for ops that have them.
    pub fn weight_zero(&self) -> Option<&WeightZero> {
        match self {
            Op::Conv(op) => Some(&op.weight_zero),
            Op::Gemm(op) => Some(&op.weight_zero),
            _ => None,
        }
    }

    /// The codes of real zero that the op carries. A new op has to state them.
    pub fn zeros(&self) -> SmallVec<[Zero; 2]> {
        let padding = |code, pad: &[u32]| Zero {
            operand: 0,
            code,
            pads: pad.iter().any(|&p| p > 0),
        };
        let of_operands = |codes: [i32; 2]| {
            let zero = |(operand, code)| Zero {
                operand,
                code,
                pads: false,
            };
            codes.into_iter().enumerate().map(zero).collect()
        };
        let weight = |&code: &i32| Zero {
            operand: 1,
            code,
            pads: false,
        };
        let weights = self
            .weight_zero()
            .into_iter()
            .flat_map(|zeros| zeros.0.values())
            .map(weight);
        match self {
            Op::Conv(op) => weights.chain([padding(op.pad_value, &op.pad)]).collect(),
            Op::Gemm(_) => weights.collect(),
            Op::SumPool(op) => smallvec![padding(op.pad_value, &op.pad)],
            Op::MatMul(op) => of_operands([op.a_zero, op.b_zero]),
            Op::Mul(op) => of_operands([op.a_zero, op.b_zero]),
            // The zero of `shift_left` is just a number to subtract from its operand.
            Op::ShiftLeft(_)
            | Op::BatchNormalization(_)
            | Op::LayerNormalization(_)
            | Op::RmsNormalization(_)
            | Op::Add(_)
            | Op::Sub(_)
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
            | Op::MaxPool(_)
            | Op::AveragePool(_)
            | Op::GlobalAveragePool(_)
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
            | Op::Requantize(_)
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
            | Op::Reduce(_) => SmallVec::new(),
        }
    }
}
