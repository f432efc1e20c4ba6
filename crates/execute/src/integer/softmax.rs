//! Softmax of codes over one axis.

use super::operands::Prepared;
use crate::layout::{around, axis};
use crate::prelude::*;
use strait_kernels::integer::IntegerSoftmax;

pub(crate) fn prepare(op: &op::IntegerSoftmax, site: &NodeSlots<'_>) -> Prepared {
    let softmax = op.softmax().map_err(|error| StepError::Model(error.to_string()))?;
    let x = site.input(0)?;
    if site.fused.is_some() || x.elem != Elem::from(softmax.elements()) {
        return Ok(None);
    }
    let extents = around(&x.dims, axis(op.axis, x.dims.len())?);
    let kernel = IntegerSoftmax::new(&softmax)?;
    Ok(Some(reading(1, move |io| {
        Ok(kernel.run(io.context, extents, io.input(0)?, io.output()?)?)
    })))
}
