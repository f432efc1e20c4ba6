//! `add_common_grid`: each operand is requantized to the grid s_y·2^−L with zero point 0; their sum or difference is on
//! the result's grid but for a shift by L and the zero point.

use super::Site;
use super::narrow::{Narrow, Product, Wide, narrow, requantize};

use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::{Add, Sub};
use strait_core::{Op, QuantParams, Reason};
use strait_requantize::IntType;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &Site<'_>, left_shift: u8) -> Result<(), Reason> {
    let (y, _) = walk.grid(site.output()?)?;
    let step = y * (-f32::from(left_shift)).exp2();
    let mut operands = Vec::with_capacity(2);
    for value in [site.input(0)?, site.input(1)?] {
        let (scale, zero) = walk.grid(value)?;
        let acc = walk.codes(value)?;
        let wide = Wide {
            acc,
            zero,
            product: Product::Grid(f64::from(scale)),
            axis: 0,
        };
        let to = Narrow {
            scale: step,
            zero: 0,
            out: IntType::I32,
        };
        operands.push(requantize(walk, site, wide, to, &site.row.inputs, "operand")?);
    }
    let grid = Arc::new(QuantParams::tensor(step, 0));
    let op: Op = if matches!(site.node.op, Op::Sub(_)) {
        Sub {}.into()
    } else {
        Add {}.into()
    };
    let acc = walk.emit(site.node, op, &operands, Some(grid), "accumulate")?;
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
