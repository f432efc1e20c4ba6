//! `add_coarser_grid`: adds or subtracts on the grid of the operand with the larger scale.
//!
//! Let s_a and s_b be the scales of the operands, s = max(s_a, s_b), and s_y the scale of the result. The operand with
//! the scale s becomes q − z, its code minus its zero point, without rounding. The other operand, with the smaller
//! scale t, becomes (q − z)·(t/s), rounded. The sum or difference is requantized by s / s_y. If the scales are powers
//! of two, the operand with the smaller scale is shifted right, as in ESP-DL's ADD and SUB.

use super::narrow::centring;
use super::{NodeToLower, sum};
use crate::lowering::{Lowering, QuantizedValue};
use std::sync::Arc;
use strait_core::{Failure, QuantParams};

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let operands = [lowering.operand(site, 0)?, lowering.operand(site, 1)?];
    let step = operands[0].grid.scale.max(operands[1].grid.scale);
    let mut terms = operands.each_ref().map(|codes| codes.value);
    for (term, QuantizedValue { grid, .. }) in terms.iter_mut().zip(&operands) {
        *term = if grid.scale == step {
            // The operand gets 32 bits, even if the target adds in another width. The other operand gets the same width.
            let coarser = Arc::new(QuantParams::tensor(step, 0));
            lowering.shift_left(site.node, centring(grid.zero), *term, Some(coarser), "operand")?
        } else {
            sum::operand(lowering, site, *term, (grid.scale.into(), grid.zero), step)?
        };
    }
    sum::total(lowering, site, &terms, step)
}
