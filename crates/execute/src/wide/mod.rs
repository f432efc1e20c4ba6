//! Ops on types that models use for other things than activations: f64 (in which constants are folded), i64 (for
//! shapes, indices and tokens) and booleans. Comparisons of f32 are here, too.
//!
//! Integer arithmetic wraps. A quotient of integers is truncated, as in C. A division by zero is an error of the model.

pub(crate) mod arithmetic;
pub(crate) mod compare;
mod function;
mod matmul;
mod reduce;

use crate::prelude::*;
use strait_core::Op;

/// Prepares the step of an op on f64, i64 or booleans, or of a comparison.
pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    match &site.node.op {
        Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_) | Op::Pow(_) => arithmetic::prepare(site),
        Op::Binary(op) => arithmetic::binary(op.function, site),
        Op::Compare(op) => compare::prepare(op.relation, site),
        Op::Unary(op) => function::prepare(op.function, site),
        Op::Clip(op) => function::clip(op, site),
        Op::Relu(_) => function::relu(site),
        Op::Reduce(op) => reduce::prepare(op, site),
        Op::MatMul(_) => matmul::prepare(site),
        _ => unsupported(site),
    }
}
