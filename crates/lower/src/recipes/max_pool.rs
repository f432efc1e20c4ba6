//! `max_pool`: codes are ordered as the real numbers that they stand for, so the largest code of a window, or along
//! reduced axes, is the maximum there, and the smallest one the minimum.
//!
//! A result of fewer bits than the operand is on the operand's grid without its lowest bits: the maximum is taken of codes
//! in 32 bits, and shifted.

use super::narrow::{Product, Wide, shift};
use super::{NodeToLower, pass_through};
use crate::lowering::Lowering;
use strait_core::op::ShiftLeft;
use strait_core::{Carrier, Channels, Failure, Op};
use strait_requantize::Per;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let (x, y) = (walk.operand_grid(site, 0)?, walk.needed_grid(site)?);
    let (bits, Op::MaxPool(pool)) = (x.ty.bits().saturating_sub(y.ty.bits()), &site.node.op) else {
        return pass_through::lower(walk, site);
    };
    if bits == 0 {
        return pass_through::lower(walk, site);
    }
    let (codes, grid) = (walk.operand(site, 0)?.value, Some(x.params()));
    let widened = ShiftLeft {
        zero: 0,
        bits: 0,
        accumulator: Carrier::I32,
    };
    let wide = walk.shift_left(site.node, widened, codes, grid.clone(), "wide")?;
    let acc = walk.emit(site.node, (**pool).clone(), &[wide], grid, "maximum")?;
    let wide = Wide {
        acc,
        zero: x.zero,
        product: Product::Grid(x.scale.into()),
        channels: Channels::Axis(1),
    };
    let codes = shift(walk, site, wide, (&y).into(), Per::Tensor(bits))?;
    walk.set_codes(site, 0, codes)
}
