//! Sums and maxima over neighbouring axes, computed by a pool whose window covers these axes completely.

use super::max_pool;
use super::operands::{Prepared, carrier, codes};
use super::sum_pool::SumPool;
use crate::float::reduce::runs;
use crate::prelude::*;
use strait_core::op::Reduction;
use strait_kernels::integer::Axis;
use strait_kernels::{Images, Pool, Window};

pub(crate) fn prepare(op: &op::Reduce, site: &NodeSlots<'_>) -> Prepared {
    let x = site.input(0)?;
    let calls = runs(&x.dims, &op.reduced(x.dims.len())?);
    let (Some(element), [[outer, extent, inner]]) = (codes(x), &calls[..]) else {
        return Ok(None);
    };
    let pool = Pool {
        window: Window::new([*extent, 1]),
        input: Images {
            batch: 1,
            channels: *outer,
            size: [*extent, *inner],
        },
        output: [1, *inner],
    };
    Ok(match op.reduction {
        Reduction::Sum => Some(Box::new(SumPool {
            pool,
            element,
            pad_value: 0,
            carrier: carrier(op.accumulator),
            channels: Axis::Rows,
            loops: site.loops()?,
        })),
        Reduction::Max if site.fused.is_none() => Some(max_pool::step(pool, element)),
        Reduction::Max | Reduction::Min | Reduction::Mean | Reduction::Product => None,
    })
}
