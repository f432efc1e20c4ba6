//! Maximum over windows.

use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::window;
use strait_core::op;
use strait_kernels::Pool;
use strait_kernels::float::max_pool;

struct MaxPool(Pool);

pub(crate) fn prepare(op: &op::MaxPool, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    Ok(Box::new(MaxPool(window::pool(
        site,
        &op.size,
        &op.stride,
        &op.dilation,
        &op.pad,
    )?)))
}

impl Step for MaxPool {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(max_pool(io.context, &self.0, io.input(0)?, io.output()?)?)
    }
}
