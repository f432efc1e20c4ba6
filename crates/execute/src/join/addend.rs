//! An operand of an addition may be the result of shifting and requantizing codes of up to 16 bits. This module finds
//! such operands. They are computed code by code, because a table of all 16-bit codes would be too large.

use super::scope::{Joins, Scope};
use crate::error::ExecuteError;
use crate::integer::operands::codes;
use crate::prelude::*;
use strait_core::{Carrier, NodeId, Op, ValueId};
use strait_requantize::{IntType, Requantization};

/// An operand `requantize((code − zero)·2^bits)`, where the codes are those of the value `base`.
pub(super) struct ShiftedOperand {
    pub(super) base: ValueId,
    pub(super) element: IntType,
    pub(super) zero: i32,
    pub(super) bits: u8,
    /// The requantization, if there is one. Its results have 32 bits.
    pub(super) form: Option<Requantization>,
    /// The nodes between `base` and the operand, in order.
    pub(super) nodes: Vec<NodeId>,
}

/// Follows a 32-bit operand back to the codes from which it is computed, through its requantization and shift. Returns
/// `None` if the operand is computed in another way, or if another node uses a value in between.
pub(super) fn behind(
    scope: &Scope<'_>,
    joins: &Joins,
    operand: ValueId,
) -> Result<Option<ShiftedOperand>, ExecuteError> {
    let mut found = ShiftedOperand {
        base: operand,
        element: IntType::I32,
        zero: 0,
        bits: 0,
        form: None,
        nodes: Vec::new(),
    };
    let free = |value: ValueId| {
        let (id, node) = scope.graph.producer(value)?;
        let only = scope.graph.only_use(value).is_some() && !joins.taken[id.index()] && node.fused.is_none();
        let operand = node.inputs.first().copied().flatten()?;
        (only && scope.slot(value).is_ok_and(|slot| slot.elem == Elem::I32)).then_some((id, &node.op, operand))
    };
    if let Some((id, Op::Requantize(op), operand)) = free(found.base)
        && op.form.channels().is_none()
    {
        found.form = Some(op.form.clone());
        found.nodes.push(id);
        found.base = operand;
    }
    if let Some((id, Op::ShiftLeft(op), operand)) = free(found.base)
        && op.accumulator == Carrier::I32
    {
        (found.zero, found.bits) = (op.zero, op.bits);
        found.nodes.insert(0, id);
        found.base = operand;
    }
    let element = codes(&scope.slot(found.base)?);
    Ok(element.map(|element| ShiftedOperand { element, ..found }))
}
