//! Clamps codes.

use super::operands::Prepared;
use crate::prelude::*;
use strait_kernels::integer::clamp;

pub(crate) fn prepare(op: &op::Clamp, site: &NodeSlots<'_>) -> Prepared {
    let element = site.input(0)?.elem.int_type();
    let (Some(element), None) = (element, &site.fused) else {
        return Ok(None);
    };
    let ends = [op.min, op.max];
    Ok(Some(elementwise(move |io| {
        Ok(clamp(io.context, element, ends, io.input(0)?, io.output()?)?)
    })))
}
