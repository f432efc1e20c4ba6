//! Mean over windows.

use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::window;
use strait_core::op;
use strait_kernels::Pool;
use strait_kernels::float::average_pool;

struct AveragePool {
    pool: Pool,
    count_padding: bool,
}

pub(crate) fn prepare(op: &op::AveragePool, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    Ok(Box::new(AveragePool {
        pool: window::pool(site, &op.size, &op.stride, &op.dilation, &op.pad)?,
        count_padding: op.count_include_pad,
    }))
}

impl Step for AveragePool {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(average_pool(
            io.context,
            &self.pool,
            self.count_padding,
            io.input(0)?,
            io.output()?,
        )?)
    }
}
