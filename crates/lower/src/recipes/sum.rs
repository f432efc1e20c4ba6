//! What the recipes of sums share: operands on one common grid, and their sum narrowed to the result.

use super::Site;
use super::narrow::{Narrow, Product, Wide, narrow, requantize};
use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::{Add, Sub};
use strait_core::{Op, QuantParams, Reason, ValueId};
use strait_requantize::IntType;
use strait_requantize::range::{Terms, subtract};

/// An operand, in steps of `scale` with real zero at `zero`, on the common grid: steps of `step` and zero point 0.
pub(super) fn operand(
    walk: &mut Lowering<'_>,
    site: &Site<'_>,
    acc: ValueId,
    (scale, zero): (f64, i32),
    step: f32,
) -> Result<ValueId, Reason> {
    let wide = Wide {
        acc,
        zero,
        product: Product::Grid(scale),
        axis: 0,
    };
    let to = Narrow {
        scale: step,
        zero: 0,
        out: IntType::I32,
    };
    requantize(walk, site, wide, to, &site.row.inputs, "operand")
}

/// The sum or difference of two operands on the common grid, narrowed.
pub(super) fn total(
    walk: &mut Lowering<'_>,
    site: &Site<'_>,
    operands: &[ValueId; 2],
    step: f32,
) -> Result<(), Reason> {
    let [first, second] = [walk.term(operands[0])?, walk.term(operands[1])?];
    let negative = matches!(site.node.op, Op::Sub(_));
    let second = if negative { subtract((0, 0), second) } else { second };
    walk.prove(&Terms { first, second })?;
    let grid = Arc::new(QuantParams::tensor(step, 0));
    let op: Op = if negative { Sub {}.into() } else { Add {}.into() };
    let acc = walk.emit(site.node, op, operands, Some(grid), "accumulate")?;
    narrow(
        walk,
        site,
        Wide {
            acc,
            zero: 0,
            product: Product::Grid(f64::from(step)),
            axis: 0,
        },
    )
}
