//! `max_pool`: computes the maximum over windows, and the maximum or minimum over axes. Codes have the same order as
//! the real numbers that they stand for, so the largest code is the maximum and the smallest code the minimum.
//!
//! If the result has n bits fewer than the operand, its codes are the operand's codes without the lowest n bits. The
//! maximum is then taken over 32-bit codes, and shifted right by n.
//!
//! The key `pad` of the row says whether padding counts as real zero or is ignored. This makes a difference if all
//! elements of a window at the border are below zero.

use super::narrow::{Wide, centring, shift};
use super::pass_through::padded;
use super::{NodeToLower, pass_through};
use crate::lowering::Lowering;
use strait_core::op::MaxPool;
use strait_core::{Channels, Failure, Op, ReasonCode, refused};
use strait_requantize::Per;
use strait_target::spec::PoolPadding;

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>, pad: PoolPadding) -> Result<(), Failure> {
    let (x, y) = (lowering.operand_grid(site, 0)?, lowering.needed_grid(site)?);
    let (bits, Op::MaxPool(pool)) = (x.ty.bits().saturating_sub(y.ty.bits()), &site.node.op) else {
        return pass_through::lower(lowering, site);
    };
    if bits == 0 {
        let padded = pad == PoolPadding::ZeroPoint && pool.pad.iter().any(|&p| p > 0);
        return if padded {
            around(lowering, site, pool)
        } else {
            pass_through::lower(lowering, site)
        };
    }
    let (codes, grid) = (lowering.operand(site, 0)?.value, Some(x.params()));
    let wide = lowering.shift_left(site.node, centring(0), codes, grid.clone(), "wide")?;
    let acc = lowering.emit(site.node, (**pool).clone(), &[wide], grid, "maximum")?;
    let wide = Wide {
        channels: Channels::Axis(1),
        ..Wide::on_grid(acc, x.zero, x.scale)
    };
    let codes = shift(lowering, site, wide, (&y).into(), Per::Tensor(bits))?;
    lowering.set_codes(site, 0, codes)
}

/// Lowers a maximum over windows in which padding counts as real zero. The operand is padded with zeros first, so that
/// the zeros take part.
fn around(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>, pool: &MaxPool) -> Result<(), Failure> {
    if pool.ceil {
        let text = "windows reach past the padding, which is real zero on the target";
        return refused(ReasonCode::PadValue, text);
    }
    let grid = Some(lowering.operand_grid(site, 0)?.params());
    let padded = padded(lowering, site, &pool.pad, grid.clone())?;
    let inside = MaxPool {
        pad: pool.pad.iter().map(|_| 0).collect(),
        ..pool.clone()
    };
    let made = lowering.emit(site.node, inside, &[padded], grid, "maximum")?;
    lowering.set_codes(site, 0, made)
}
