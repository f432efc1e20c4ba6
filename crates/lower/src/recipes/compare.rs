//! `compare`: computes truth values by comparing codes.
//!
//! Both operands have the same grid, so a = b, a < b and a <= b hold for two real numbers exactly if they hold for
//! their codes. The result has no grid: truth values are the same on the host, on the accelerator and as the condition
//! of a `select`.

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
