//! Writes nodes that compute on codes as quantized operators (QOperator format), one operator for each node: those of
//! ONNX, and those of ONNX Runtime's domain.
//!
//! Every operator has the scales and zero points of its operands and of its result as operands. Between a node on codes
//! and a node on real numbers, the graph has a `quantize` or a `dequantize`.

mod clamp;
mod elementwise;
mod grids;
mod mean;
mod product;
mod weights_alone;

use super::emitter::Emitter;
use super::ops::At;
use crate::error::WriteError;
use strait_core::{Op, Term, Value, ValueId};
pub(super) use weights_alone::packed;

/// True if a value is codes on a grid.
fn is_codes(value: &Value) -> bool {
    value.quant.is_some() && !value.ty.elem.is_float()
}

/// Prepares the names of values before the nodes are written, for clamps that change no code.
pub(super) fn share_names(emitter: &mut Emitter<'_>) -> Result<(), WriteError> {
    for (_, node) in emitter.graph().nodes() {
        let at = At {
            node,
            name: emitter.module.name(node.name),
        };
        let is_on_codes = node
            .result()
            .and_then(|id| emitter.graph().value(id))
            .is_some_and(is_codes);
        match &node.op {
            Op::Relu(_) if is_on_codes => clamp::share_name(emitter, at, 0.0, f32::INFINITY)?,
            Op::Clip(clip) if is_on_codes => clamp::share_name(emitter, at, clip.min, clip.max)?,
            _ => {}
        }
    }
    Ok(())
}

/// Writes a node that computes on codes, and returns true. If the node computes on real numbers, or if the operator for
/// real numbers does the same on codes, writes nothing and returns false.
pub(super) fn node(emitter: &mut Emitter<'_>, at: At<'_>) -> Result<bool, WriteError> {
    if weights_alone::node(emitter, at)? {
        return Ok(true);
    }
    let has_codes = |id: Option<ValueId>| id.and_then(|id| emitter.graph().value(id)).is_some_and(is_codes);
    if !has_codes(at.node.result()) {
        return Ok(false);
    }
    match &at.node.op {
        Op::Quantize(_) if has_codes(at.node.input(0)) => elementwise::on_another_grid(emitter, at)?,
        Op::Quantize(_) => return Ok(false),
        Op::Conv(conv) => product::conv(emitter, at, conv)?,
        Op::Gemm(gemm) => product::gemm(emitter, at, gemm)?,
        Op::MatMul(_) => product::matmul(emitter, at)?,
        Op::Add(_) => elementwise::two(emitter, at, "QLinearAdd")?,
        Op::Mul(_) => elementwise::two(emitter, at, "QLinearMul")?,
        Op::LeakyRelu(leaky) => elementwise::leaky_relu(emitter, at, leaky.alpha)?,
        Op::GlobalAveragePool(_) => mean::global(emitter, at)?,
        Op::Reduce(reduce) if at.node.op.term() == Term::ReduceMean => mean::reduce(emitter, at, reduce)?,
        Op::Relu(_) => clamp::clamp(emitter, at, 0.0, f32::INFINITY)?,
        Op::Clip(clip) => clamp::clamp(emitter, at, clip.min, clip.max)?,
        Op::Pad(pad) => clamp::pad(emitter, at, pad)?,
        op => match op.term() {
            Term::Sigmoid => elementwise::sigmoid(emitter, at)?,
            term if term.moves_codes() => return Ok(false),
            Term::MaxPool | Term::ReduceMax | Term::ReduceMin => return Ok(false),
            term => return Err(at.unwritable(format!("there is no quantized operator for `{term}`"))),
        },
    }
    Ok(true)
}
