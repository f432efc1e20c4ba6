//! Numbers of an op that stand for real zero among the codes of an operand.

use crate::op::Op;
use smallvec::{SmallVec, smallvec};

/// The code of real zero of an operand, as an op carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zero {
    /// The position of the operand.
    pub operand: usize,
    /// The code; 0 where the operand is float.
    pub code: i32,
    /// True if elements beside the operand read as the code.
    pub pads: bool,
}

impl Op {
    /// The codes of real zero that the op carries. An op that is new has to say which.
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
        match self {
            Op::Conv(op) => smallvec![padding(op.pad_value, &op.pad)],
            Op::SumPool(op) => smallvec![padding(op.pad_value, &op.pad)],
            Op::MatMul(op) => of_operands([op.a_zero, op.b_zero]),
            Op::Mul(op) => of_operands([op.a_zero, op.b_zero]),
            // That of `shift_left` is any number that its operand is to be less by.
            Op::ShiftLeft(_)
            | Op::Gemm(_)
            | Op::BatchNormalization(_)
            | Op::LayerNormalization(_)
            | Op::Add(_)
            | Op::Sub(_)
            | Op::Div(_)
            | Op::Pow(_)
            | Op::Relu(_)
            | Op::Clip(_)
            | Op::LeakyRelu(_)
            | Op::HardSigmoid(_)
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
            | Op::Cast(_)
            | Op::Identity(_)
            | Op::Quantize(_)
            | Op::RoundTo(_)
            | Op::Dequantize(_)
            | Op::Requantize(_)
            | Op::Lookup(_)
            | Op::IntegerSoftmax(_)
            | Op::Clamp(_)
            | Op::Call(_)
            | Op::Foreign(_)
            | Op::Unary(_)
            | Op::Reduce(_) => SmallVec::new(),
        }
    }
}
