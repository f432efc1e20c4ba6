//! `add_common_grid`: each operand is requantized to the grid s_y·2^−L with zero point 0; their sum or difference is on
//! the result's grid but for a shift by L and the zero point. Where the result stays a sum, the coarser one of the operands'
//! grids stands for s_y.
//!
//! L is the row's `left_shift`, or as much of it as the forms reach: the factor of an operand is s_x·2^L / s_y, and a
//! multiplier of b bits without a shift to the left ends at 2^b. Every bit of L less doubles what can be reached, and
//! halves the resolution of the sum.

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
    // Where no grid is reached, the coarsest one's reason is told.
    let shift = (0..=left_shift).rev().find(reached).unwrap_or(0);
    let mut terms = operands.each_ref().map(|codes| codes.value);
    for (term, QuantizedValue { grid, .. }) in terms.iter_mut().zip(&operands) {
        *term = sum::operand(lowering, site, *term, (grid.scale.into(), grid.zero), step(shift))?;
    }
    sum::total(lowering, site, &terms, step(shift))
}
