//! `clamp`: computes ReLU and Clip on codes. Each bound is quantized to a code as the target quantizes numbers.
//! Quantization never gives a smaller code for a larger number, so clamping the codes gives the same result as clamping
//! the real numbers and then quantizing.

use super::NodeToLower;
use crate::lowering::Lowering;
use crate::walk::quantize;
use strait_core::op::Clamp;
use strait_core::{Failure, Op, ReasonCode, refused};
use strait_requantize::certificate::FromFloat;

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let grid = lowering.needed_grid(site)?;
    let (low, high) = match &site.node.op {
        Op::Relu(_) => (0.0, f32::INFINITY),
        Op::Clip(clip) => (clip.min, clip.max),
        other => return Err(Failure::Defect(format!("{} is no clamp", other.term()))),
    };
    let how = quantize(lowering.spec, grid.ty);
    let quantization = FromFloat {
        scale: grid.scale,
        zero_point: grid.zero,
        added: how.zero_point,
        rounding: how.rounding,
        reciprocal: how.reciprocal,
        out: grid.ty,
    };
    // This is not written as `clamp`, which would panic if the range is empty.
    let code = |x: f32| quantization.eval(x).min(*grid.range.end()).max(*grid.range.start());
    let (min, max) = (code(low), code(high));
    if low.is_nan() || high.is_nan() || min > max {
        return refused(ReasonCode::Clip, format!("[{low}, {high}] holds no number"));
    }
    let codes = lowering.operand(site, 0)?.value;
    let made = lowering.emit(site.node, Clamp { min, max }, &[codes], Some(grid.params()), "clamp")?;
    lowering.set_codes(site, 0, made)
}
