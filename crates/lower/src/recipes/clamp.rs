//! `clamp`: ReLU and Clip on codes: each bound becomes the code that the target quantizes it to. Quantizing does not
//! decrease, so that is the clamp of the real numbers, quantized.

use super::NodeToLower;
use crate::boundary;
use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::Clamp;
use strait_core::{Failure, Op, QuantParams, Reason, ReasonCode};
use strait_requantize::certificate::FromFloat;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let y = site.output()?;
    let (scale, zero) = walk.grid(y)?;
    let (low, high) = match &site.node.op {
        Op::Relu(_) => (0.0, f32::INFINITY),
        Op::Clip(clip) => (clip.min, clip.max),
        other => return Err(Failure::Defect(format!("{} is no clamp", other.term()))),
    };
    let (how, range) = (boundary::quantize(walk.spec), walk.spec.types.activation_range());
    let quantization = FromFloat {
        scale,
        zero_point: zero,
        added: how.zero_point,
        rounding: how.rounding,
        reciprocal: how.reciprocal,
        out: walk.spec.types.activation_type(),
    };
    // Not `clamp`, which panics for an empty range.
    let code = |x: f32| quantization.eval(x).min(*range.end()).max(*range.start());
    let (min, max) = (code(low), code(high));
    if low.is_nan() || high.is_nan() || min > max {
        return Err(Reason::new(ReasonCode::Clip, format!("[{low}, {high}] holds no number")).into());
    }
    let codes = walk.codes(site.input(0)?)?;
    let grid = Arc::new(QuantParams::tensor(scale, zero));
    let made = walk.emit(site.node, Clamp { min, max }, &[codes], Some(grid), "clamp")?;
    walk.set_codes(y, made);
    Ok(())
}
