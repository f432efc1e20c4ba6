//! `average_pool_divide`: the sum of a window divided by its count, rounded half away from zero, on one grid (LiteRT's
//! AVERAGE_POOL_2D). A mean over all spatial axes is a pool over one window; where it drops them, a reshape follows.

use super::{NodeToLower, average_pool_requantize::prove_window, pass_through};
use crate::lowering::Lowering;
use strait_core::op::{GlobalAveragePool, Reshape};
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
