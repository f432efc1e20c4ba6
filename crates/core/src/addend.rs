//! The addend of a fused node: a tensor of codes that the node adds to its accumulator. Like the node's first operand,
//! it is known only at run time.

use crate::op::Op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::TensorType;
use strait_requantize::{IntType, Requantization};

/// Codes of another tensor that a node adds to its accumulator. The codes are first requantized to the grid of the
/// accumulator. The sum `accumulator + form(code − zero)` has 32 bits. This sum is then requantized to the grid of the
/// result.
#[derive(Clone, Debug, PartialEq)]
pub struct Addend {
    /// The code that stands for real zero. It is subtracted from each code first.
    pub zero: i32,
    /// Requantizes the codes to the grid of the accumulator. If the form has parameters per channel, its channels are
    /// those of the node that adds the codes.
    pub form: Requantization,
}

impl Addend {
    /// The position of the addend among a node's operands. A convolution and a Gemm have three operands of their own,
    /// and no other op takes an addend.
    pub const OPERAND: usize = 3;

    /// Checks an addend. `operands` are the operands of `op`, with the addend last. The addend must be codes, and the
    /// `result` of `op` must be an accumulator of 32 bits.
    pub(crate) fn fits(
        &self,
        op: &Op,
        operands: &[Option<&TensorType>],
        result: Option<&TensorType>,
    ) -> Result<(), Reason> {
        let (Op::Conv(_) | Op::Gemm(_), Some(sum)) = (op, result) else {
            let text = format!("{} takes no addend", op.name());
            return Err(Reason::new(ReasonCode::Arity, text));
        };
        let codes = match operands.get(Self::OPERAND..) {
            Some([Some(codes)]) => codes,
            _ => return Err(Reason::new(ReasonCode::Arity, "the operand that is added is absent")),
        };
        let ty = codes.elem.int_type().filter(|ty| ty.bits() <= 16);
        let fits = ty.is_some_and(|ty| ty.range().contains(&self.zero)) && codes.shape == sum.shape;
        let carried = sum.elem.int_type() == Some(IntType::I32) && self.form.out() == IntType::I32;
        if fits && carried {
            return Ok(());
        }
        let text = format!("{codes} with its zero at {} is not added to {sum}", self.zero);
        Err(Reason::new(ReasonCode::Accumulator, text))
    }
}
