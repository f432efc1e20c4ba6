//! `average_pool_reciprocal`: an average pool that multiplies the sum of a window by the reciprocal of the number of
//! its elements.
//!
//! The sum of a window is acc = Σ q over k taps, of which n count as elements. The result is y = round((acc − k·z)·r /
//! 2^b) + z on the operand's grid with the zero point z. r is 1 / n as a fixed-point number with b fraction bits.
//! Because r is rounded, the mean of a window whose codes are all equal can differ from this code.

use super::NodeToLower;
use super::average_pool_requantize::window_sum;
use super::narrow::reciprocal;
use crate::lowering::Lowering;
use strait_core::Failure;
use strait_target::spec::Reciprocal;

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>, numbers: Reciprocal) -> Result<(), Failure> {
    let y = lowering.needed_grid(site)?;
    let (wide, counts) = window_sum(lowering, site)?;
    let codes = reciprocal(lowering, site, wide, (&y).into(), &counts, numbers)?;
    lowering.set_codes(site, 0, codes)
}
