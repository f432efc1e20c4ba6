//! `average_pool_divide`: the sum of a window divided by its count, rounded half away from zero, with operand and
//! result on one grid (LiteRT's AVERAGE_POOL_2D). A mean over all spatial axes is a pool with a single window. If it
//! drops these axes, a reshape follows.
//!
//! If padding counts, the operand is padded with real zero first, and the pool counts the padded elements: a PAD in
//! front of AVERAGE_POOL_2D.

use super::{NodeToLower, average_pool_requantize::prove_window, pass_through};
use crate::lowering::Lowering;
use strait_core::op::{AveragePool, GlobalAveragePool, Pad, PadMode, Reshape};
use strait_core::shape::window_elements;
use strait_core::{Failure, Op};

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let codes = walk.operand(site, 0)?.value;
    let dims = walk.dims(codes);
    prove_window(
        walk,
        site,
        match &site.node.op {
            Op::AveragePool(pool) => window_elements(&pool.size),
            _ => dims.iter().skip(2).product(),
        },
    )?;
    match &site.node.op {
        Op::AveragePool(pool) if pool.count_include_pad && pool.pad.iter().any(|&p| p > 0) => counted(walk, site, pool),
        Op::Reduce(mean) if mean.keep_dims => pass_through::lower_as(walk, site, GlobalAveragePool {}.into()),
        Op::Reduce(_) => {
            let grid = Some(walk.needed_grid(site)?.params());
            let means = walk.emit(site.node, GlobalAveragePool {}, &[codes], grid.clone(), "means")?;
            let shape = dims.iter().take(2).map(|&extent| extent as i64).collect();
            let made = walk.emit(site.node, Reshape { shape }, &[means], grid, "codes")?;
            walk.set_codes(site, 0, made)
        }
        op => pass_through::lower_as(walk, site, op.clone()),
    }
}

/// The means of windows that count their padding. Placing has checked that no window reaches past the padding.
fn counted(walk: &mut Lowering<'_>, site: &NodeToLower<'_>, pool: &AveragePool) -> Result<(), Failure> {
    let (x, grid) = (walk.operand_grid(site, 0)?, Some(walk.needed_grid(site)?.params()));
    let codes = walk.operand(site, 0)?.value;
    let (begins, ends) = pool.pad.split_at(pool.pad.len() / 2);
    let axes = |pads: &[u32]| -> Vec<i64> { [0, 0].into_iter().chain(pads.iter().map(|&p| p.into())).collect() };
    let around = Pad {
        mode: PadMode::Constant,
        amounts: axes(begins).into_iter().chain(axes(ends)).collect(),
        value: x.zero as f32,
    };
    let padded = walk.emit(site.node, around, &[codes], grid.clone(), "padded")?;
    let inside = AveragePool {
        pad: pool.pad.iter().map(|_| 0).collect(),
        count_include_pad: false,
        ..pool.clone()
    };
    let made = walk.emit(site.node, inside, &[padded], grid, "mean")?;
    walk.set_codes(site, 0, made)
}
