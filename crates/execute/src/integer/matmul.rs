//! Matrix product of two activations. Accumulators are requantized as soon as they are computed.

use super::operands::{Prepared, carrier, codes};
use crate::batches::Batches;
use crate::prelude::*;
use strait_kernels::integer::{Activation, Carrier, Loops};
use strait_requantize::IntType;

struct MatMul {
    batches: Batches,
    elements: [IntType; 2],
    zeros: [i32; 2],
    carrier: Carrier,
    /// Number of bytes of an element of the result.
    width: usize,
    loops: Box<dyn Loops>,
}

pub(crate) fn prepare(op: &op::MatMul, site: &NodeSlots<'_>) -> Prepared {
    let (a, b) = (site.input(0)?, site.input(1)?);
    let (Some(left), Some(right)) = (codes(a), codes(b)) else {
        return Ok(None);
    };
    Ok(Some(Box::new(MatMul {
        batches: Batches::new(&a.dims, &b.dims)?,
        elements: [left, right],
        zeros: [op.a_zero, op.b_zero],
        carrier: carrier(op.accumulator),
        width: site.output()?.elem.size(),
        loops: site.loops()?,
    })))
}

impl MatMul {
    /// Returns one matrix of an operand.
    fn matrix<'a>(&self, operand: usize, data: &'a [u8], [rows, columns]: [usize; 2], index: usize) -> Activation<'a> {
        let element = self.elements[operand];
        let size = rows * columns * Elem::from(element).size();
        Activation {
            data: &data[index * size..(index + 1) * size],
            element,
            zero_point: self.zeros[operand],
            strides: [columns, 1],
        }
    }
}

impl Step for MatMul {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let Batches { extents, pairs } = &self.batches;
        let [rows, columns, depth] = *extents;
        let (a, b) = (io.input::<u8>(0)?, io.input::<u8>(1)?);
        let context = io.context;
        let out = io.output::<u8>()?;
        let size = rows * columns * self.width;
        if size == 0 {
            return Ok(());
        }
        for (out, [i, j]) in out.chunks_exact_mut(size).zip(pairs) {
            let (a, b) = (
                self.matrix(0, a, [rows, depth], *i),
                self.matrix(1, b, [depth, columns], *j),
            );
            self.loops.matmul(context, *extents, a, b, self.carrier, out)?;
        }
        Ok(())
    }
}
