//! `compare`: truth values by the order of codes, which both operands have on one grid.
//!
//! On one grid a = b, a < b and a <= b hold of two real numbers exactly where they hold of their codes. The result has no grid: it
//! is what it is for the host, and for a `select` as well.

use super::NodeToLower;
use crate::lowering::Lowering;
use strait_core::Failure;

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let [a, b] = [lowering.operand(site, 0)?, lowering.operand(site, 1)?];
    if a.grid != b.grid {
        return Err(Failure::defect("what it compares is on two grids"));
    }
    let made = lowering.emit(site.node, site.node.op.clone(), &[a.value, b.value], None, "codes")?;
    lowering.set_truth(site, made)
}
