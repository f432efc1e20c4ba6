//! Softmax over one axis.

use crate::layout::{around, axis};
use crate::prelude::*;
use strait_kernels::float::softmax;

impl Executable for op::Softmax {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let dims = &site.input(0)?.dims;
        let extents = around(dims, axis(self.axis, dims.len())?);
        Ok(reading(1, move |io| {
            Ok(softmax(io.context, extents, io.input(0)?, io.output()?)?)
        }))
    }
}
