//! A second run-time operand of a fused node: codes that are added inside the accumulator.

use crate::graph::Node;
use crate::ids::ValueId;
use crate::op::Op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::TensorType;
use strait_requantize::{IntType, Requantization};

/// Codes of another tensor on the grid of an accumulator: `form(code − zero)`, in 32 bits, is added to it before it is
/// requantized. So a residual sum is rounded once.
#[derive(Clone, Debug, PartialEq)]
pub struct Addend {
    /// The code of real zero, which is taken away first.
    pub zero: i32,
    /// From the codes to the grid of the accumulator; its channels are those of the node.
    pub form: Requantization,
}

impl Addend {
    /// The position of its operand: behind all that a convolution or a Gemm has of its own. Nothing else takes one.
    pub const OPERAND: usize = 3;

    /// Checks that `operands`, those of `op` with the addend behind them, add codes to the `result` of `op`, an accumulator
    /// of 32 bits.
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

impl Node {
    /// The requantization that it computes: that which was fused into it, or its own.
    pub fn requantization(&self) -> Option<&Requantization> {
        match (&self.op, &self.fused) {
            (_, Some(fused)) => Some(&fused.requant),
            (Op::Requantize(op), None) => Some(&op.form),
            _ => None,
        }
    }

    /// The step that adds inside the accumulator, and its operand.
    pub fn addend(&self) -> Option<(&Addend, ValueId)> {
        let addend = self.fused.as_deref()?.addend.as_ref()?;
        Some((addend, self.inputs.get(Addend::OPERAND).copied().flatten()?))
    }

    /// The operands of its op: all but the one that is added inside the accumulator.
    pub fn own_inputs(&self) -> &[Option<ValueId>] {
        let adds = self.fused.as_deref().is_some_and(|fused| fused.addend.is_some());
        let own = if adds { Addend::OPERAND } else { self.inputs.len() };
        self.inputs.get(..own).unwrap_or(&self.inputs)
    }
}
