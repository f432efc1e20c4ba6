//! Matrix product of two activations.

use crate::batches::Batches;
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use strait_kernels::float::{Bias, Matrix, gemm};

struct MatMul(Batches);

pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    Ok(Box::new(MatMul(Batches::new(
        &site.input(0)?.dims,
        &site.input(1)?.dims,
    )?)))
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
