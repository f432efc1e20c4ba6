//! Softmax over one axis.

use crate::error::StepError;
use crate::layout::{around, axis};
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use strait_core::op;
use strait_kernels::float::softmax;

struct Softmax {
    extents: [usize; 3],
}

pub(crate) fn prepare(op: &op::Softmax, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let dims = &site.input(0)?.dims;
    Ok(Box::new(Softmax {
        extents: around(dims, axis(op.axis, dims.len())?),
    }))
}

impl Step for Softmax {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(softmax(io.context, self.extents, io.input(0)?, io.output()?)?)
    }
}
