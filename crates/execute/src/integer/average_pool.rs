//! Computes the mean of each window as a code on the operand's own grid. Global pools are included.

use super::operands::{Prepared, codes};
use crate::prelude::*;
use crate::window;
use strait_kernels::integer::average_pool;

/// Prepares a mean over windows. If `op` is `None`, it is a global pool, whose window is the whole image.
pub(crate) fn prepare(op: Option<&op::AveragePool>, site: &NodeSlots<'_>) -> Prepared {
    let x = site.input(0)?;
    let pool = match op {
        Some(op) => window::pool(site, &op.size, &op.stride, &op.dilation, &op.pad),
        None => window::global(site),
    };
    // There is no fast loop for a mean with a fused requantization; it is computed by the reference definition.
    let (Some(element), Ok(pool), None) = (codes(x), pool, &site.fused) else {
        return Ok(None);
    };
    let Ok(zero_point) = i32::try_from(x.zero_point()) else {
        return Ok(None);
    };
    let count_padding = op.is_some_and(|op| op.count_include_pad);
    Ok(Some(reading(1, move |io| {
        let (context, x) = (io.context, io.input(0)?);
        let out = io.output()?;
        Ok(average_pool(
            context,
            &pool,
            element,
            count_padding,
            zero_point,
            None,
            x,
            out,
        )?)
    })))
}
