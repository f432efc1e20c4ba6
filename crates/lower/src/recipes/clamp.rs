//! `clamp`: ReLU and Clip on codes: each bound becomes the code of its grid, saturated to the type.

use super::Site;
use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::Clamp;
use strait_core::{Op, QuantParams, Reason};
use strait_requantize::quantize::quantize;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &Site<'_>) -> Result<(), Reason> {
    let y = site.output()?;
    let (scale, zero) = walk.grid(y)?;
    let (low, high) = match &site.node.op {
        Op::Relu(_) => (0.0, f32::INFINITY),
        Op::Clip(clip) => (clip.min, clip.max),
        other => return Err(Reason::new("no-recipe", format!("{} is no clamp", other.term()))),
    };
    let range = walk.spec.types.activation_range();
    let code = |x: f32| quantize(x, scale, zero, walk.spec.quantize.rounding, &range);
    let (min, max) = (code(low), code(high));
    if low.is_nan() || high.is_nan() || min > max {
        return Err(Reason::new("clip", format!("[{low}, {high}] holds no number")));
    }
    let codes = walk.codes(site.input(0)?)?;
    let grid = Arc::new(QuantParams::tensor(scale, zero));
    let made = walk.emit(site.node, Clamp { min, max }, &[codes], Some(grid), "clamp")?;
    walk.set_codes(y, made);
    Ok(())
}
