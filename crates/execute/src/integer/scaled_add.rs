//! Elementwise addition of codes of 8 bits with a factor for each operand.

use super::operands::{Prepared, codes};
use crate::prelude::*;
use strait_kernels::mixed::QLinearAdd;

pub(crate) fn prepare(op: &op::ScaledAdd, site: &NodeSlots<'_>) -> Prepared {
    let (a, b) = (site.input(0)?, site.input(1)?);
    let (Some(form), Some(element), None) = (op.form(), codes(a), &site.fused) else {
        return Ok(None);
    };
    // The kernel reads two arrays of one length. Operands that broadcast are computed by the definition.
    if a.dims != b.dims || a.elem != b.elem {
        return Ok(None);
    }
    let kernel = QLinearAdd::new(form)?;
    Ok(Some(reading(2, move |io| {
        let (context, operands) = (io.context, [io.input(0)?, io.input(1)?]);
        Ok(kernel.run(context, element, operands, io.output()?)?)
    })))
}
