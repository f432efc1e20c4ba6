//! Softmax of codes over one axis.

use super::operands::Prepared;
use crate::layout::{around, axis};
use crate::prelude::*;
use strait_kernels::integer::IntegerSoftmax;

struct Softmax {
    extents: [usize; 3],
    kernel: IntegerSoftmax,
}

pub(crate) fn prepare(op: &op::IntegerSoftmax, site: &NodeSlots<'_>) -> Prepared {
    let softmax = op.softmax().map_err(|error| StepError::Model(error.to_string()))?;
    let x = site.input(0)?;
    if site.fused.is_some() || x.elem != Elem::from(softmax.elements()) {
        return Ok(None);
    }
    Ok(Some(Box::new(Softmax {
        extents: around(&x.dims, axis(op.axis, x.dims.len())?),
        kernel: IntegerSoftmax::new(&softmax)?,
    })))
}

impl Step for Softmax {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(self.kernel.run(io.context, self.extents, io.input(0)?, io.output()?)?)
    }
}
