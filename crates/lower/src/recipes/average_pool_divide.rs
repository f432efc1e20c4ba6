//! `average_pool_divide`: the sum of a window divided by its count, rounded half away from zero, on one grid (LiteRT's
//! AVERAGE_POOL_2D). A mean over all spatial axes is a pool over one window.

use super::{NodeToLower, pass_through};
use crate::lowering::Lowering;
use strait_core::op::GlobalAveragePool;
use strait_core::{Failure, Op};

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    match &site.node.op {
        Op::Reduce(_) => pass_through::lower_as(walk, site, GlobalAveragePool {}.into()),
        op => pass_through::lower_as(walk, site, op.clone()),
    }
}
