//! `add_left_shift`: ADD and SUB as LiteRT computes them.
//!
//! Let m = 2·max(s_a, s_b), where s_a and s_b are the scales of the operands, and let L be the row's left shift. Each
//! operand with scale s and zero point z becomes ((q − z)·2^L)·(s/m), rounded, on the grid with the scale m·2^−L. The
//! sum or difference is requantized by m·2^−L / s_y, where s_y is the scale of the result.

use super::{NodeToLower, sum};
use crate::lowering::{Lowering, QuantizedValue};
use std::sync::Arc;
use strait_core::op::ShiftLeft;
use strait_core::{Failure, QuantParams};

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>, left_shift: u8) -> Result<(), Failure> {
    let operands = [lowering.operand(site, 0)?, lowering.operand(site, 1)?];
    let fine = (-f32::from(left_shift)).exp2();
    // Doubling an f32 is exact, and so is multiplying it by a power of two.
    let common = 2.0 * operands[0].grid.scale.max(operands[1].grid.scale);
    let step = common * fine;
    let mut terms = operands.each_ref().map(|codes| codes.value);
    for (term, QuantizedValue { grid, .. }) in terms.iter_mut().zip(&operands) {
        let fine = Arc::new(QuantParams::tensor(grid.scale * fine, 0));
        let shift = ShiftLeft {
            zero: grid.zero,
            bits: left_shift,
            accumulator: lowering.carrier(site)?,
        };
        let shifted = lowering.shift_left(site.node, shift, *term, Some(fine), "shift")?;
        // With s = `grid.scale` and m = `common`: the shifted operand has the scale s·2^−L, and the sum has m·2^−L,
        // which is `step`. So the operand is requantized by s/m. This factor is rounded once, to f64, because s·2^−L is
        // exact.
        let scale = f64::from(grid.scale) * f64::from(step) / f64::from(common);
        *term = sum::operand(lowering, site, shifted, (scale, 0), step)?;
    }
    sum::total(lowering, site, &terms, step)
}
