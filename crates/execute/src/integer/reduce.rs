//! Sums over neighbouring axes, as a pool whose window is all of them.

use super::{Prepared, eight_bits, sum_pool::SumPool};
use crate::float::reduce::runs;
use crate::site::NodeSlots;
use strait_core::op::{self, Reduction};
use strait_kernels::integer::Axis;
use strait_kernels::{Images, Pool, Window};

pub(crate) fn prepare(op: &op::Reduce, site: &NodeSlots<'_>) -> Prepared {
    let x = site.input(0)?;
    let calls = runs(&x.dims, &op.reduced(x.dims.len())?);
    let (Some(element), Reduction::Sum, [[outer, extent, inner]]) = (eight_bits(x), op.reduction, &calls[..]) else {
        return Ok(None);
    };
    Ok(Some(Box::new(SumPool {
        pool: Pool {
            window: Window::new([*extent, 1]),
            input: Images {
                batch: 1,
                channels: *outer,
                size: [*extent, *inner],
            },
            output: [1, *inner],
        },
        element,
        pad_value: 0,
        channels: Axis::Rows,
        loops: site.loops()?,
    })))
}
