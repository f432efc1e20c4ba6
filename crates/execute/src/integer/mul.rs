//! Elementwise product of two activations. Products are requantized as soon as they are computed.

use super::operands::{Prepared, carrier, codes};
use crate::prelude::*;
use strait_kernels::integer::Broadcast;

pub(crate) fn prepare(op: &op::Mul, site: &NodeSlots<'_>) -> Prepared {
    let (a, b) = (site.input(0)?, site.input(1)?);
    let (Some(left), Some(right)) = (codes(a), codes(b)) else {
        return Ok(None);
    };
    let broadcast = Broadcast::new(&a.dims, &b.dims)?;
    let (elements, zeros, carrier) = ([left, right], [op.a_zero, op.b_zero], carrier(op.accumulator));
    let loops = site.loops()?;
    Ok(Some(reading(2, move |io| {
        let (context, operands) = (io.context, [io.input(0)?, io.input(1)?]);
        let out = io.output()?;
        Ok(loops.multiply(context, &broadcast, elements, zeros, carrier, operands, out)?)
    })))
}
