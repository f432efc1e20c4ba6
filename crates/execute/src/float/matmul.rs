//! Matrix product of two activations.

use crate::batches::Batches;
use crate::prelude::*;
use strait_core::shape::element_count;
use strait_kernels::float::{Bias, Matrix, gemm};

/// The size in bytes of the two matrix indices of one product in a batch, and room for the list to grow.
const PAIR: u64 = 32;

struct MatMul(Batches);

impl Executable for op::MatMul {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        Ok(Box::new(MatMul(Batches::new(
            &site.input(0)?.dims,
            &site.input(1)?.dims,
        )?)))
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        types.each(types.extent_from_end(0, 1))
    }

    fn scratch(&self, _: &TensorType, y: &TensorType, _: &Types<'_>) -> Scratch {
        let axes = y.shape.len().saturating_sub(2);
        let batch = element_count(&y.shape[..axes]).unwrap_or(u64::MAX).max(1);
        Scratch::held(times(batch, PAIR))
    }
}

impl Step for MatMul {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let Batches { extents, pairs } = &self.0;
        let [rows, columns, depth] = *extents;
        let (a, b) = (io.input::<f32>(0)?, io.input::<f32>(1)?);
        let context = io.context;
        let out = io.output::<f32>()?;
        if rows * columns == 0 {
            return Ok(());
        }
        for (out, [i, j]) in out.chunks_exact_mut(rows * columns).zip(pairs) {
            let a = Matrix::row_major(&a[i * rows * depth..(i + 1) * rows * depth], depth);
            let b = Matrix::row_major(&b[j * depth * columns..(j + 1) * depth * columns], columns);
            gemm(context, *extents, a, b, Bias::Zero, out)?;
        }
        Ok(())
    }
}
