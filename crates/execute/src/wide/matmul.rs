//! Matrix products of f64 and i64, by NumPy's rules.

use crate::batches::Batches;
use crate::prelude::*;
use bytemuck::Pod;
use std::marker::PhantomData;

struct MatMul<T> {
    batches: Batches,
    add: fn(T, T, T) -> T,
    elements: PhantomData<T>,
}

pub(super) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let batches = Batches::new(&site.input(0)?.dims, &site.input(1)?.dims)?;
    match (site.input(0)?.elem, site.input(1)?.elem) {
        (Elem::F64, Elem::F64) => Ok(Box::new(MatMul {
            batches,
            add: |sum: f64, a, b| sum + a * b,
            elements: PhantomData,
        })),
        (Elem::I64, Elem::I64) => Ok(Box::new(MatMul {
            batches,
            add: |sum: i64, a, b| sum.wrapping_add(a.wrapping_mul(b)),
            elements: PhantomData,
        })),
        _ => unsupported(site),
    }
}

impl<T: Pod + Send + Sync> Step for MatMul<T> {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (a, b) = (io.input::<T>(0)?, io.input::<T>(1)?);
        let [rows, columns, depth] = self.batches.extents;
        let out = io.output::<T>()?;
        for (pair, out) in self
            .batches
            .pairs
            .iter()
            .zip(out.chunks_exact_mut((rows * columns).max(1)))
        {
            let (a, b) = (&a[pair[0] * rows * depth..], &b[pair[1] * depth * columns..]);
            for (index, out) in out.iter_mut().enumerate() {
                let (row, column) = (index / columns, index % columns);
                let factors = (0..depth).map(|k| (a[row * depth + k], b[k * columns + column]));
                *out = factors.fold(T::zeroed(), |sum, (a, b)| (self.add)(sum, a, b));
            }
        }
        Ok(())
    }
}
