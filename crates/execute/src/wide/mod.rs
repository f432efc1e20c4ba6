//! Ops on the numbers that models compute beside their activations: f64, which constants are folded in, i64, which shapes,
//! indices and tokens are, and truth values. What compares is here for f32, too.
//!
//! Integer arithmetic wraps. A quotient of integers is truncated, as in C; by zero it is an error of the model.

pub(crate) mod arithmetic;
pub(crate) mod compare;
mod function;
mod matmul;
mod reduce;

use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::Step;
use strait_core::Op;

/// The step of an op that computes here; `None` for any other op.
pub(crate) fn prepare(site: &NodeSlots<'_>) -> Option<Result<Box<dyn Step>, StepError>> {
    Some(match &site.node.op {
        Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_) | Op::Pow(_) => arithmetic::prepare(site),
        Op::Binary(op) => arithmetic::binary(op.function, site),
        Op::Compare(op) => compare::prepare(op.relation, site),
        Op::Unary(op) => function::prepare(op.function, site),
        Op::Clip(op) => function::clip(op, site),
        Op::Relu(_) => function::relu(site),
        Op::Reduce(op) => reduce::prepare(op, site),
        Op::MatMul(_) => matmul::prepare(site),
        _ => return None,
    })
}

/// That the op has no meaning on operands of these types.
fn unsupported<T>(site: &NodeSlots<'_>) -> Result<T, StepError> {
    let types: Vec<_> = site.inputs.iter().flatten().map(|slot| slot.elem.name()).collect();
    Err(StepError::Unsupported(format!(
        "{} on {}",
        site.node.op.term(),
        types.join(", ")
    )))
}
