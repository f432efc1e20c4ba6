//! Table lookup.

use super::operands::{Prepared, codes};
use crate::prelude::*;
use crate::reference::write;
use strait_kernels::integer::lookup;
use strait_requantize::IntType;

/// Returns a step that looks up each code of the operand in a table. The table begins with the entry of the smallest
/// code.
pub(crate) fn step(element: IntType, table: Vec<u8>) -> Box<dyn Step> {
    elementwise(move |io| Ok(lookup(io.context, element, &table, io.input(0)?, io.output()?)?))
}

impl Executable for op::Interpolate {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        unsupported(site)
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        // While a table is made, each code needs memory for its entry and for the number from which the entry is
        // computed.
        Scratch::held(times(1 << x.elem.bits().min(16), 2 * WORD))
    }
}

pub(crate) fn prepare(site: &NodeSlots<'_>) -> Prepared {
    let (x, table) = (site.input(0)?, site.input(1)?);
    let (Some(element), Some(table), None) = (codes(x), table.constant, &site.fused) else {
        return Ok(None);
    };
    Ok(Some(step(element, table.unpacked().to_vec())))
}

/// Prepares an interpolation if its points are constant: it becomes a lookup in a table with one entry for each code.
pub(crate) fn interpolate(op: &op::Interpolate, site: &NodeSlots<'_>) -> Prepared {
    let (x, table) = (site.input(0)?, site.input(1)?);
    let (Some(lines), Some(constant), None) = (op.on(x.elem), table.constant, &site.fused) else {
        return Ok(None);
    };
    let entries = constant.to_i64().ok().and_then(|entries| lines.table(&entries));
    let Some(entries) = entries else { return Ok(None) };
    let mut bytes = vec![0; entries.len() * table.elem.size()];
    write(table.elem, &entries, &mut bytes)?;
    Ok(Some(step(lines.elements, bytes)))
}
