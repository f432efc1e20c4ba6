//! `average_pool_divide`: divides the sum of a window by the number of its elements, and rounds half away from zero.
//! Operand and result have the same grid, as in LiteRT's AVERAGE_POOL_2D. A mean over all spatial axes is lowered as a
//! pool with a single window. If the mean drops these axes, a reshape follows.
//!
//! If padding is included in the mean, the operand is padded with real zero first, and the pool counts the padded
//! elements too. In LiteRT, this is a PAD before AVERAGE_POOL_2D.

use super::pass_through::padded;
use super::{NodeToLower, average_pool_requantize::prove_window, pass_through};
use crate::lowering::Lowering;
use strait_core::op::{AveragePool, GlobalAveragePool, Reshape};
use strait_core::shape::window_elements;
use strait_core::{Failure, Op};

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let codes = lowering.operand(site, 0)?.value;
    let dims = lowering.dims(codes);
    prove_window(
        lowering,
        site,
        match &site.node.op {
            Op::AveragePool(pool) => window_elements(&pool.size),
            _ => dims.iter().skip(2).product(),
        },
    )?;
    match &site.node.op {
        Op::AveragePool(pool) if pool.count_include_pad && pool.pad.iter().any(|&p| p > 0) => {
            counted(lowering, site, pool)
        }
        Op::Reduce(mean) if mean.keep_dims => pass_through::lower_as(lowering, site, GlobalAveragePool {}.into()),
        Op::Reduce(_) => {
            let grid = Some(lowering.needed_grid(site)?.params());
            let means = lowering.emit(site.node, GlobalAveragePool {}, &[codes], grid.clone(), "means")?;
            let shape = dims.iter().take(2).map(|&extent| extent as i64).collect();
            let made = lowering.emit(site.node, Reshape { shape }, &[means], grid, "codes")?;
            lowering.set_codes(site, 0, made)
        }
        op => pass_through::lower_as(lowering, site, op.clone()),
    }
}

/// Lowers a pool whose means include the padding. Placing has checked that no window reaches beyond the padding.
fn counted(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>, pool: &AveragePool) -> Result<(), Failure> {
    let grid = Some(lowering.needed_grid(site)?.params());
    let padded = padded(lowering, site, &pool.pad, grid.clone())?;
    let inside = AveragePool {
        pad: pool.pad.iter().map(|_| 0).collect(),
        count_include_pad: false,
        ..pool.clone()
    };
    let made = lowering.emit(site.node, inside, &[padded], grid, "mean")?;
    lowering.set_codes(site, 0, made)
}
