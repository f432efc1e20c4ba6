//! `add_left_shift`: LiteRT's ADD and SUB.
//!
//! With m = 2·max(s_a, s_b), each operand becomes ((q − z)·2^L)·(s/m), rounded, on the grid m·2^−L; their sum or
//! difference is requantized by m·2^−L / s_y.

use super::Site;
use super::narrow::{Narrow, Product, Wide, narrow, requantize};

use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::{Add, ShiftLeft, Sub};
use strait_core::{Op, QuantParams, Reason};
use strait_requantize::IntType;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &Site<'_>, left_shift: u8) -> Result<(), Reason> {
    let (a, b) = (site.input(0)?, site.input(1)?);
    let grids = [walk.grid(a)?, walk.grid(b)?];
    // Twice an f32 is exact; so is a product with a power of two.
    let common = 2.0 * grids[0].0.max(grids[1].0);
    let step = common * (-f32::from(left_shift)).exp2();
    let mut wide = Vec::with_capacity(2);
    for (value, (scale, zero)) in [a, b].into_iter().zip(grids) {
        let codes = walk.codes(value)?;
        let fine = Arc::new(QuantParams::tensor(scale * (-f32::from(left_shift)).exp2(), 0));
        let shifted = walk.emit(
            site.node,
            ShiftLeft { zero, bits: left_shift },
            &[codes],
            Some(fine),
            "shift",
        )?;
        // The factor s/m, whose ratio of grids is (s·2^−L)/(m·2^−L).
        let product = Product::Grid(f64::from(scale) * f64::from(step) / f64::from(common));
        let operand = Wide {
            acc: shifted,
            zero: 0,
            product,
            axis: 0,
        };
        let to = Narrow {
            scale: step,
            zero: 0,
            out: IntType::I32,
        };
        wide.push(requantize(walk, site, operand, to, &site.row.inputs, "operand")?);
    }
    let grid = Arc::new(QuantParams::tensor(step, 0));
    let op: Op = if matches!(site.node.op, Op::Sub(_)) {
        Sub {}.into()
    } else {
        Add {}.into()
    };
    let acc = walk.emit(site.node, op, &wide, Some(grid), "accumulate")?;
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
