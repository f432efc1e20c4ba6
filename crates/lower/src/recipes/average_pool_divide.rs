//! `average_pool_divide`: the sum of a window divided by its count, rounded half away from zero, on one grid (LiteRT's
//! AVERAGE_POOL_2D). A mean over all spatial axes is a pool over one window; where it drops them, a reshape follows.

use super::{NodeToLower, average_pool_requantize::prove_window, pass_through};
use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::{GlobalAveragePool, Reshape};
use strait_core::{Failure, Op, QuantParams};

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let x = site.input(0)?;
    let codes = walk.codes(x)?;
    let dims = walk.dims(codes);
    prove_window(
        walk,
        x,
        match &site.node.op {
            Op::AveragePool(pool) => pool.size.iter().map(|&s| u64::from(s)).product(),
            _ => dims.iter().skip(2).product(),
        },
    )?;
    match &site.node.op {
        Op::Reduce(mean) if mean.keep_dims => pass_through::lower_as(walk, site, GlobalAveragePool {}.into()),
        Op::Reduce(_) => {
            let y = site.output()?;
            let (scale, zero) = walk.grid(y)?;
            let grid = Some(Arc::new(QuantParams::tensor(scale, zero)));
            let means = walk.emit(site.node, GlobalAveragePool {}, &[codes], grid.clone(), "means")?;
            let shape = dims.iter().take(2).map(|&extent| extent as i64).collect();
            let made = walk.emit(site.node, Reshape { shape }, &[means], grid, "codes")?;
            walk.set_codes(y, made);
            Ok(())
        }
        op => pass_through::lower_as(walk, site, op.clone()),
    }
}
