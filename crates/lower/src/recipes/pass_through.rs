//! `pass_through`: moves, copies or compares codes. Operands and results share one grid.

use super::NodeToLower;
use crate::lowering::Lowering;
use crate::walk::Build;
use strait_core::op::{Pad, PadMode};
use strait_core::{Elem, Failure, Op};

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    match &site.node.op {
        // No primitive is needed: the operand's codes are the result.
        Op::Identity(_) => {
            let codes = lowering.operand(site, 0)?;
            lowering.set_codes(site, 0, codes.value)
        }
        Op::Pad(pad) if pad.mode == PadMode::Constant => {
            // The padding is a real number. The primitive pads with the code of this number.
            let value = lowering.needed_grid(site)?.code(pad.value) as f32;
            lower_as(
                lowering,
                site,
                Pad {
                    value,
                    ..(**pad).clone()
                }
                .into(),
            )
        }
        op => lower_as(lowering, site, op.clone()),
    }
}

/// Appends the primitive `op` on the codes of the node's float operands. Operands of other types, such as indices, are
/// passed on unchanged.
pub(super) fn lower_as(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>, op: Op) -> Result<(), Failure> {
    let grid = lowering.needed_grid(site)?;
    let mut operands = Vec::with_capacity(site.node.inputs.len());
    for index in 0..site.node.inputs.len() {
        let value = site.input(index)?;
        let float = lowering.graph().value(value).is_some_and(|v| v.ty.elem == Elem::F32);
        operands.push(match float {
            true => lowering.operand(site, index)?.value,
            false => lowering.real(value)?,
        });
    }
    let made = lowering.emit_all(site.node, op, &operands, Some(grid.params()), "codes")?;
    for (position, &codes) in made.iter().enumerate() {
        lowering.set_codes(site, position, codes)?;
    }
    Ok(())
}
