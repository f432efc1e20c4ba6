//! Softmax over one axis.

use crate::layout::{around, axis};
use crate::prelude::*;
use strait_kernels::float::softmax;

struct Softmax {
    extents: [usize; 3],
}

impl Executable for op::Softmax {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let dims = &site.input(0)?.dims;
        Ok(Box::new(Softmax {
            extents: around(dims, axis(self.axis, dims.len())?),
        }))
    }
}

impl Step for Softmax {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(softmax(io.context, self.extents, io.input(0)?, io.output()?)?)
    }
}
