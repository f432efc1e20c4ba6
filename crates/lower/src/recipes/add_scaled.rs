//! `add_scaled`: adds two codes by one primitive, which multiplies each code by its scale over the result's scale.
//! These factors, and a constant for the zero points that is added too, are computed in f32 by the rule of ONNX
//! Runtime's QLinearAdd.

use super::NodeToLower;
use crate::lowering::Lowering;
use strait_core::op::ScaledAdd;
use strait_core::{Failure, Reason, ReasonCode};
use strait_requantize::scales::onnx_runtime::addition;

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let (a, b, y) = (
        lowering.operand(site, 0)?,
        lowering.operand(site, 1)?,
        lowering.needed_grid(site)?,
    );
    let form = addition(
        (a.grid.scale, a.grid.zero),
        (b.grid.scale, b.grid.zero),
        (y.scale, y.zero),
        y.ty,
    );
    let form = form.map_err(|error| Reason::new(ReasonCode::FormFactor, error.to_string()))?;
    let made = lowering.emit(
        site.node,
        ScaledAdd::new(&form),
        &[a.value, b.value],
        Some(y.params()),
        "add",
    )?;
    lowering.set_codes(site, 0, made)
}
