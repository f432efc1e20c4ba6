//! `add_left_shift`: LiteRT's ADD and SUB.
//!
//! With m = 2·max(s_a, s_b), each operand becomes ((q − z)·2^L)·(s/m), rounded, on the grid m·2^−L; their sum or
//! difference is requantized by m·2^−L / s_y.

use super::Site;
use super::narrow::{Forms, Wide, narrow, requantize};
use crate::forms::{Ends, Product};
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
        let ends = Ends {
            input_zero: 0,
            scale: f64::from(common),
            zero: 0,
            out: IntType::I32,
        };
        let product = Product::Codes { scale, times: 1.0 };
        let wide_operand = Wide {
            acc: shifted,
            zero: 0,
            product,
            axis: 0,
        };
        let grid = Some(Arc::new(QuantParams::tensor(step, 0)));
        wide.push(requantize(
            walk,
            site,
            wide_operand,
            ends,
            &Forms::Operands,
            grid,
            "operand",
        )?);
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
            product: Product::Codes {
                scale: step,
                times: 1.0,
            },
            axis: 0,
        },
    )
}
