//! Sums of windows, requantized where they are.

use super::{Prepared, eight_bits};
use crate::error::StepError;
use crate::site::Site;
use crate::step::{Io, Step};
use crate::window;
use strait_core::op;
use strait_kernels::Pool;
use strait_kernels::integer::Loops;
use strait_requantize::IntType;

pub(super) struct SumPool {
    pub(super) pool: Pool,
    pub(super) element: IntType,
    pub(super) pad_value: i32,
    pub(super) loops: Box<dyn Loops>,
}

pub(crate) fn prepare(op: &op::SumPool, site: &Site<'_>) -> Prepared {
    let (Some(element), Ok(pool)) = (
        eight_bits(site.input(0)?),
        window::pool(site, &op.size, &op.stride, &op.dilation, &op.pad),
    ) else {
        return Ok(None);
    };
    Ok(Some(Box::new(SumPool {
        pool,
        element,
        pad_value: op.pad_value,
        loops: site.loops()?,
    })))
}

impl Step for SumPool {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input(0)?;
        let context = io.context;
        Ok(self
            .loops
            .sum_pool(context, &self.pool, self.element, self.pad_value, x, io.output()?)?)
    }
}
