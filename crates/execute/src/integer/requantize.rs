//! Requantizes numbers on one grid to codes on another grid.

use super::operands::Prepared;
use super::picked;
use crate::layout::around;
use crate::prelude::*;
use strait_core::Fused;

impl Executable for op::Requantize {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        unsupported(site)
    }

    fn scratch(&self, _: &TensorType, y: &TensorType, types: &Types<'_>) -> Scratch {
        picked::scratch(y, types)
    }
}

pub(crate) fn prepare(op: &op::Requantize, site: &NodeSlots<'_>) -> Prepared {
    step(op, site, false)
}

/// Prepares the step for an image whose channels are last and have parameters each.
pub(crate) fn prepare_last(op: &op::Requantize, site: &NodeSlots<'_>) -> Prepared {
    match (op.axis, site.node.picked_channels()) {
        (1, None) => step(op, site, true),
        _ => Ok(None),
    }
}

/// Prepares the step. If `last` is true, the channels of axis 1 are last in memory.
fn step(op: &op::Requantize, site: &NodeSlots<'_>, last: bool) -> Prepared {
    // If this node is joined, `fused` has the form of this node and the clamps after it. If `fused` has another form,
    // that is a second requantization. The loops compute only one, so there is no step for both.
    let clamp = match &site.fused {
        None => None,
        Some(Fused {
            addend: None,
            requant,
            clamp,
        }) if *requant == op.form => *clamp,
        Some(_) => return Ok(None),
    };
    let x = site.input(0)?;
    // Accumulators of type i64 have no `IntType`.
    let element = x.elem.int_type();
    let Ok(picked) = site.picked(x.dims.len()) else {
        return Ok(None);
    };
    let (form, extents) = match (picked, op.form.channels()) {
        (_, None) => (op.form.clone(), [1, 1, x.count()]),
        (None, Some(_)) => {
            let [outer, channels, inner] = around(&x.dims, op.axis as usize);
            let extents = match last {
                true => [outer * inner, channels, 1],
                false => [outer, channels, inner],
            };
            (op.form.clone(), extents)
        }
        (Some(picked), Some(_)) => {
            let Some(form) = op.form.select(&picked.channels) else {
                return Ok(None);
            };
            let (outer, positions) = x.dims.split_at(picked.from);
            (form, [outer, positions, &[]].map(|dims| dims.iter().product()))
        }
    };
    let loops = site.options.loops.loops_for(&form, clamp)?;
    let run = move |io: &mut Io<'_>| {
        match element {
            Some(element) => loops.requantize(io.context, extents, element, io.input(0)?, io.output()?)?,
            None => loops.requantize_wide(io.context, extents, io.input(0)?, io.output()?)?,
        }
        Ok(())
    };
    Ok(Some(match form.channels() {
        None => elementwise(run),
        Some(_) => reading(1, run),
    }))
}
