//! `compare`: truth values by the order of codes, which both operands have on one grid.
//!
//! On one grid a = b, a < b and a <= b hold of two real numbers exactly where they hold of their codes. The result has no grid: it
//! is what it is for the host, and for a `select` as well.

use super::NodeToLower;
use crate::lowering::Lowering;
use strait_core::Failure;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let [a, b] = [walk.operand(site, 0)?, walk.operand(site, 1)?];
    if a.grid != b.grid {
        return Err(Failure::defect("what it compares is on two grids"));
    }
    let made = walk.emit(site.node, site.node.op.clone(), &[a.value, b.value], None, "codes")?;
    walk.set_truth(site, made)
}
