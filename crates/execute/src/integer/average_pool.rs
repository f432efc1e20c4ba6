//! Means of windows on the operand's own grid, including global pools.

use super::operands::{Prepared, codes};
use crate::prelude::*;
use crate::window;
use strait_kernels::Pool;
use strait_kernels::integer::average_pool;
use strait_requantize::IntType;

struct AveragePool {
    pool: Pool,
    element: IntType,
    count_padding: bool,
    zero_point: i32,
}

/// Prepares a mean over windows. Without `op` it is a global pool, whose window is the whole image.
pub(crate) fn prepare(op: Option<&op::AveragePool>, site: &NodeSlots<'_>) -> Prepared {
    let x = site.input(0)?;
    let pool = match op {
        Some(op) => window::pool(site, &op.size, &op.stride, &op.dilation, &op.pad),
        None => window::global(site),
    };
    // If a requantization is fused into the mean, there is no fast loop, and the reference definition computes both.
    let (Some(element), Ok(pool), None) = (codes(x), pool, &site.fused) else {
        return Ok(None);
    };
    let Ok(zero_point) = i32::try_from(x.zero_point()) else {
        return Ok(None);
    };
    Ok(Some(Box::new(AveragePool {
        pool,
        element,
        count_padding: op.is_some_and(|op| op.count_include_pad),
        zero_point,
    })))
}

impl Step for AveragePool {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input(0)?;
        let context = io.context;
        let (pool, element) = (&self.pool, self.element);
        Ok(average_pool(
            context,
            pool,
            element,
            self.count_padding,
            self.zero_point,
            None,
            x,
            io.output()?,
        )?)
    }
}
