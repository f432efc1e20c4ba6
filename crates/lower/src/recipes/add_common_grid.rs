//! `add_common_grid`: each operand is requantized to the grid s_y·2^−L with zero point 0; their sum or difference is on
//! the result's grid but for a shift by L and the zero point.

use super::{Site, sum};
use crate::lowering::Lowering;
use strait_core::Reason;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &Site<'_>, left_shift: u8) -> Result<(), Reason> {
    let (y, _) = walk.grid(site.output()?)?;
    let step = y * (-f32::from(left_shift)).exp2();
    let mut operands = [site.input(0)?, site.input(1)?];
    for value in &mut operands {
        let (scale, zero) = walk.grid(*value)?;
        let codes = walk.codes(*value)?;
        *value = sum::operand(walk, site, codes, (f64::from(scale), zero), step)?;
    }
    sum::total(walk, site, &operands, step)
}
