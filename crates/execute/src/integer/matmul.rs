//! Matrix product of two activations, its accumulators requantized where they are.

use super::{Prepared, eight_bits};
use crate::batches::Batches;
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use strait_core::op;
use strait_kernels::integer::{Activation, Carrier, Loops};
use strait_requantize::IntType;

struct MatMul {
    batches: Batches,
    elements: [IntType; 2],
    zeros: [i32; 2],
    loops: Box<dyn Loops>,
}

pub(crate) fn prepare(op: &op::MatMul, site: &NodeSlots<'_>) -> Prepared {
    let (a, b) = (site.input(0)?, site.input(1)?);
    let (Some(left), Some(right)) = (eight_bits(a), eight_bits(b)) else {
        return Ok(None);
    };
    Ok(Some(Box::new(MatMul {
        batches: Batches::new(&a.dims, &b.dims)?,
        elements: [left, right],
        zeros: [op.a_zero, op.b_zero],
        loops: site.loops()?,
    })))
}

impl Step for MatMul {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let Batches { extents, pairs } = &self.batches;
        let [rows, columns, depth] = *extents;
        let (a, b) = (io.input::<u8>(0)?, io.input::<u8>(1)?);
        let context = io.context;
        let out = io.output::<u8>()?;
        let matrix = |data, operand: usize, columns: usize| Activation {
            data,
            element: self.elements[operand],
            zero_point: self.zeros[operand],
            strides: [columns, 1],
        };
        let size = rows * columns * usize::from(self.loops.out().bits() / 8);
        if size == 0 {
            return Ok(());
        }
        for (out, [i, j]) in out.chunks_exact_mut(size).zip(pairs) {
            let a = matrix(&a[i * rows * depth..(i + 1) * rows * depth], 0, depth);
            let b = matrix(&b[j * depth * columns..(j + 1) * depth * columns], 1, columns);
            self.loops.matmul(context, *extents, a, b, Carrier::I32, out)?;
        }
        Ok(())
    }
}
