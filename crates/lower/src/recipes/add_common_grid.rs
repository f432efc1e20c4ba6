//! `add_common_grid`: adds or subtracts on a common grid that is finer than the result's.
//!
//! Each operand is requantized to a grid with the scale s_y·2^−L and the zero point 0, where s_y is the result's scale.
//! The grid of the sum or difference then differs from the result's grid only by a shift by L bits and the zero point.
//! If the result stays an accumulator, it has no scale s_y, and the larger scale of the two operands is used instead.
//!
//! L is the row's `left_shift`, or less if the forms cannot compute the operands' factors. The factor of an operand
//! with the scale s_x is s_x·2^L / s_y. A multiplier of b bits without a left shift can only compute factors below 2^b.
//! Reducing L by 1 allows operands with twice the scale, and halves the resolution of the sum.

use super::{NodeToLower, sum};
use crate::lowering::{Lowering, QuantizedValue};
use strait_core::Failure;

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>, left_shift: u8) -> Result<(), Failure> {
    let operands = [lowering.operand(site, 0)?, lowering.operand(site, 1)?];
    let [a, b] = operands.each_ref().map(|codes| codes.grid.scale);
    let scale = lowering.result_grid(site).map_or(a.max(b), |y| y.scale);
    let step = |shift: u8| scale * (-f32::from(shift)).exp2();
    let reached = |shift: &u8| {
        operands
            .iter()
            .all(|codes| sum::reaches(lowering, site, codes, step(*shift)))
    };
    // If no grid can be reached, the reason for the coarsest grid is reported.
    let shift = (0..=left_shift).rev().find(reached).unwrap_or(0);
    let mut terms = operands.each_ref().map(|codes| codes.value);
    for (term, QuantizedValue { grid, .. }) in terms.iter_mut().zip(&operands) {
        *term = sum::operand(lowering, site, *term, (grid.scale.into(), grid.zero), step(shift))?;
    }
    sum::total(lowering, site, &terms, step(shift))
}
