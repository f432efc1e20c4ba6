//! Matrix products of f64 and i64, by NumPy's rules.

use crate::batches::Batches;
use crate::prelude::*;
use bytemuck::Pod;

pub(super) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let batches = Batches::new(&site.input(0)?.dims, &site.input(1)?.dims)?;
    match (site.input(0)?.elem, site.input(1)?.elem) {
        (Elem::F64, Elem::F64) => Ok(step(batches, |sum: f64, a, b| sum + a * b)),
        (Elem::I64, Elem::I64) => Ok(step(batches, |sum: i64, a, b| sum.wrapping_add(a.wrapping_mul(b)))),
        _ => unsupported(site),
    }
}

fn step<T: Pod>(batches: Batches, add: fn(T, T, T) -> T) -> Box<dyn Step> {
    let Batches { extents, pairs } = batches;
    let [rows, columns, depth] = extents;
    reading(2, move |io| {
        let (a, b) = (io.input::<T>(0)?, io.input::<T>(1)?);
        let products = io.output::<T>()?.chunks_exact_mut((rows * columns).max(1));
        for (&[i, j], out) in pairs.iter().zip(products) {
            let (a, b) = (&a[i * rows * depth..], &b[j * depth * columns..]);
            for (index, out) in out.iter_mut().enumerate() {
                let (row, column) = (index / columns, index % columns);
                let factors = (0..depth).map(|k| (a[row * depth + k], b[k * columns + column]));
                *out = factors.fold(T::zeroed(), |sum, (a, b)| add(sum, a, b));
            }
        }
        Ok(())
    })
}
