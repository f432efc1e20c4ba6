//! Functions that the recipes of additions and subtractions share. They requantize the operands to a common grid, and
//! the sum or difference to the grid of the result.

use super::NodeToLower;
use super::narrow::{Narrow, Product, Wide, form, narrow, not_coarser, requantize};
use crate::interval::any_code;
use crate::lowering::{Grid, Lowering, QuantizedValue};
use std::sync::Arc;
use strait_core::op::{Add, Sub};
use strait_core::{Failure, Op, QuantParams, ValueId};
use strait_requantize::range::{Terms, subtract};
use strait_requantize::{IntType, Per};

/// Requantizes an operand to the common grid, which has the step `step` and zero point 0. The operand's own grid has
/// the step `scale` and the zero point `zero`.
pub(super) fn operand(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    acc: ValueId,
    (scale, zero): (f64, i32),
    step: f32,
) -> Result<ValueId, Failure> {
    let made = requantize(
        lowering,
        site,
        Wide::on_grid(acc, zero, scale),
        common(step),
        &site.row.inputs,
        "operand",
    );
    // The operand is requantized to the common grid, so a coarser grid for the result would not help.
    made.map_err(not_coarser)
}

/// True if a form of the row can requantize an operand to the common grid.
pub(super) fn reaches(lowering: &Lowering<'_>, site: &NodeToLower<'_>, operand: &QuantizedValue, step: f32) -> bool {
    let Grid { ty, scale, zero, .. } = operand.grid;
    let forms = &site.row.inputs;
    // At this point it is not decided whether the zero point is subtracted first. So the form must be defined in both
    // cases.
    let (low, high) = any_code(ty);
    let codes = Per::Tensor((low.min(low - i64::from(zero)), high.max(high - i64::from(zero))));
    let product = Product::Grid(scale.into());
    form(lowering.spec, forms, &product, zero, common(step), Some(&codes)).is_ok()
}

/// The common grid, with the step `step` and zero point 0, in 32 bits.
fn common(step: f32) -> Narrow {
    Narrow {
        scale: step,
        zero: 0,
        out: IntType::I32,
    }
}

/// Adds or subtracts two operands on the common grid, and narrows the result.
pub(super) fn total(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    operands: &[ValueId; 2],
    step: f32,
) -> Result<(), Failure> {
    let [first, second] = [lowering.term(operands[0])?, lowering.term(operands[1])?];
    let negative = matches!(site.node.op, Op::Sub(_));
    let second = if negative { subtract((0, 0), second) } else { second };
    // The common grid has 32 bits, even if the target adds in another width.
    let sum = Terms { first, second };
    let bits = lowering.accumulator(site)?.bits.min(32);
    lowering.prove_within(site, &sum, bits)?;
    let grid = Arc::new(QuantParams::tensor(step, 0));
    let op: Op = if negative { Sub {}.into() } else { Add {}.into() };
    let acc = lowering.emit(site.node, op, operands, Some(grid), "accumulate")?;
    narrow(lowering, site, Wide::on_grid(acc, 0, step))
}
