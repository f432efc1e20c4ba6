//! Maximum over windows of codes.

use super::{Prepared, codes};
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::window;
use strait_core::op;
use strait_kernels::Pool;
use strait_kernels::integer::max_pool;
use strait_requantize::IntType;

pub(super) struct MaxPool {
    pub(super) pool: Pool,
    pub(super) element: IntType,
}

pub(crate) fn prepare(op: &op::MaxPool, site: &NodeSlots<'_>) -> Prepared {
    let pool = window::pool(site, &op.size, &op.stride, &op.dilation, &op.pad);
    let (Some(element), Ok(pool), None) = (codes(site.input(0)?), pool, &site.fused) else {
        return Ok(None);
    };
    Ok(Some(Box::new(MaxPool { pool, element })))
}

impl Step for MaxPool {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        Ok(max_pool(
            io.context,
            &self.pool,
            self.element,
            io.input(0)?,
            io.output()?,
        )?)
    }
}
