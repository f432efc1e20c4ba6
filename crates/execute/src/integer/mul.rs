//! Elementwise product of two activations. Products are requantized as soon as they are computed.

use super::lookup;
use super::operands::{Prepared, carrier, codes, eight_bits};
use crate::prelude::*;
use strait_kernels::{Context, integer::Broadcast};

pub(crate) fn prepare(op: &op::Mul, site: &NodeSlots<'_>) -> Prepared {
    let (a, b) = (site.input(0)?, site.input(1)?);
    let (Some(left), Some(right)) = (codes(a), codes(b)) else {
        return Ok(None);
    };
    let broadcast = Broadcast::new(&a.dims, &b.dims)?;
    let (elements, zeros, carrier) = ([left, right], [op.a_zero, op.b_zero], carrier(op.accumulator));
    let loops = site.loops()?;
    let fused = site.fused.as_ref().filter(|fused| fused.requant.channels().is_none());
    if let (Some(element), Some(number), 1, Some(_)) = (eight_bits(a), b.constant, b.count(), fused) {
        // The product with a number is a function of one code.
        let codes: Vec<u8> = element.range().map(|code| code as u8).collect();
        let mut table = vec![0; codes.len() * site.output()?.elem.size()];
        let (shape, operands) = (Broadcast::new(&[codes.len()], &[1])?, [&codes[..], &number.unpacked()]);
        loops.multiply(
            &Context::detect(),
            &shape,
            elements,
            zeros,
            carrier,
            operands,
            &mut table,
        )?;
        return Ok(Some(lookup::step(element, table)));
    }
    Ok(Some(reading(2, move |io| {
        let (context, operands) = (io.context, [io.input(0)?, io.input(1)?]);
        let out = io.output()?;
        Ok(loops.multiply(context, &broadcast, elements, zeros, carrier, operands, out)?)
    })))
}
