//! `pass_through`: moves, copies or compares codes. Operands and results share one grid.

use super::NodeToLower;
use crate::lowering::{Lowering, QuantizedValue};
use crate::walk::Build;
use std::sync::Arc;
use strait_core::op::{Pad, PadMode};
use strait_core::{Elem, Failure, Op, QuantParams, ValueId};

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
            let pad = Pad {
                value,
                ..(**pad).clone()
            };
            lower_as(lowering, site, pad.into())
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

/// Appends a pad of the spatial axes of the node's operand, with the code for real zero.
pub(super) fn padded(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    pads: &[u32],
    grid: Option<Arc<QuantParams>>,
) -> Result<ValueId, Failure> {
    let QuantizedValue { value, grid: x } = lowering.operand(site, 0)?;
    let axes = |pads: &[u32]| {
        [0, 0]
            .into_iter()
            .chain(pads.iter().map(|&pad| pad.into()))
            .collect::<Vec<i64>>()
    };
    let (begins, ends) = pads.split_at(pads.len() / 2);
    let around = Pad {
        mode: PadMode::Constant,
        amounts: [axes(begins), axes(ends)].concat().into(),
        value: x.zero as f32,
    };
    lowering.emit(site.node, around, &[value], grid, "padded")
}
