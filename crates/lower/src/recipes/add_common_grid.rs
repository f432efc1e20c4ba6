//! `add_common_grid`: each operand is requantized to the grid s_y·2^−L with zero point 0; their sum or difference is on
//! the result's grid but for a shift by L and the zero point.
//!
//! L is the row's `left_shift`, or as much of it as the forms reach: the factor of an operand is s_x·2^L / s_y, and a
//! multiplier of b bits without a shift to the left ends at 2^b. Every bit of L less doubles what can be reached, and
//! halves the resolution of the sum.

use super::{NodeToLower, sum};
use crate::lowering::Lowering;
use strait_core::{Failure, Reason, ReasonCode};

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>, left_shift: u8) -> Result<(), Failure> {
    if !walk.has_grid(site.id, site.node) {
        let text = "its result is read as real numbers, and the common grid is made from the grid of the result";
        return Err(Reason::new(ReasonCode::NoGrid, text).into());
    }
    let (y, _) = walk.grid(site.output()?)?;
    let step = |shift: u8| y * (-f32::from(shift)).exp2();
    let mut operands = [site.input(0)?, site.input(1)?];
    let grids = [walk.grid(operands[0])?, walk.grid(operands[1])?].map(|(scale, zero)| (f64::from(scale), zero));
    let reached = |shift: &u8| grids.iter().all(|grid| sum::reaches(walk, site, *grid, step(*shift)));
    // Where no grid is reached, the coarsest one's reason is told.
    let shift = (0..=left_shift).rev().find(reached).unwrap_or(0);
    for (value, grid) in operands.iter_mut().zip(grids) {
        let codes = walk.codes(*value)?;
        *value = sum::operand(walk, site, codes, grid, step(shift))?;
    }
    sum::total(walk, site, &operands, step(shift))
}
