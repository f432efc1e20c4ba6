//! `add_left_shift`: LiteRT's ADD and SUB.
//!
//! With m = 2·max(s_a, s_b), each operand becomes ((q − z)·2^L)·(s/m), rounded, on the grid m·2^−L; their sum or
//! difference is requantized by m·2^−L / s_y.

use super::{NodeToLower, sum};
use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::ShiftLeft;
use strait_core::{Carrier, Failure, QuantParams};

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>, left_shift: u8) -> Result<(), Failure> {
    let mut operands = [site.input(0)?, site.input(1)?];
    let grids = [walk.grid(operands[0])?, walk.grid(operands[1])?];
    let fine = (-f32::from(left_shift)).exp2();
    // Twice an f32 is exact; so is a product with a power of two.
    let common = 2.0 * grids[0].0.max(grids[1].0);
    let step = common * fine;
    for (value, (scale, zero)) in operands.iter_mut().zip(grids) {
        let codes = walk.codes(*value)?;
        let grid = Arc::new(QuantParams::tensor(scale * fine, 0));
        let shift = ShiftLeft {
            zero,
            bits: left_shift,
            accumulator: Carrier::I32,
        };
        let shifted = walk.shift_left(site.node, shift, codes, Some(grid), "shift")?;
        // The factor s/m, the ratio of the grids s·2^−L and m·2^−L, with one rounding to f64.
        let scale = f64::from(scale) * f64::from(step) / f64::from(common);
        *value = sum::operand(walk, site, shifted, (scale, 0), step)?;
    }
    sum::total(walk, site, &operands, step)
}
