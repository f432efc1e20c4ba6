//! Rounds floats to a grid without making codes.

use super::prelude::*;
use crate::quant::Scheme;

op! {
    /// Quantizes the operand and dequantizes it again, with the grid of the result. With a dynamic policy, each run
    /// computes the grid anew: each scale is computed from the smallest and the largest of the elements that share the
    /// scale. If no grid can cover these elements, they do not change.
    RoundTo = "round_to" v 1: Real, 1 {
        /// Policy, type, range and rounding. They mean the same as in quantization configs.
        scheme: Scheme,
    }
}

impl OpFacts for RoundTo {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::ensure(x.elem == Elem::F32, ReasonCode::QuantizeType, || {
            format!("from {}; f32 is needed", x.elem)
        })?;
        support::same(operands)
    }
}
