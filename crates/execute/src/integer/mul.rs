//! Elementwise product of two activations, requantized as soon as it is computed.

use super::operands::{Prepared, carrier, codes};
use crate::prelude::*;
use strait_kernels::integer::{Broadcast, Carrier, Loops};
use strait_requantize::IntType;

struct Mul {
    broadcast: Broadcast,
    elements: [IntType; 2],
    zeros: [i32; 2],
    carrier: Carrier,
    loops: Box<dyn Loops>,
}

pub(crate) fn prepare(op: &op::Mul, site: &NodeSlots<'_>) -> Prepared {
    let (a, b) = (site.input(0)?, site.input(1)?);
    let (Some(left), Some(right)) = (codes(a), codes(b)) else {
        return Ok(None);
    };
    Ok(Some(Box::new(Mul {
        broadcast: Broadcast::new(&a.dims, &b.dims)?,
        elements: [left, right],
        zeros: [op.a_zero, op.b_zero],
        carrier: carrier(op.accumulator),
        loops: site.loops()?,
    })))
}

impl Step for Mul {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let operands = [io.input(0)?, io.input(1)?];
        let context = io.context;
        Ok(self.loops.multiply(
            context,
            &self.broadcast,
            self.elements,
            self.zeros,
            self.carrier,
            operands,
            io.output()?,
        )?)
    }
}
