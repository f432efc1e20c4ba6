//! Reductions of f64, i64 and booleans over axes.

use crate::float::reduce::runs;
use crate::prelude::*;
use bytemuck::Pod;
use strait_core::op::Reduction;

pub(super) fn prepare(op: &op::Reduce, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let dims = &site.input(0)?.dims;
    let axes = op.reduced(dims.len())?;
    let calls = runs(dims, &axes);
    let count: usize = axes.iter().map(|&axis| dims[axis]).product();
    match (site.input(0)?.elem, op.reduction) {
        (Elem::F64, Reduction::Sum) => step(calls, 0.0f64, |a, b| a + b, |x| x),
        (Elem::F64, Reduction::Mean) => step(calls, 0.0f64, |a, b| a + b, move |x| x / count as f64),
        (Elem::F64, Reduction::Max) => step(
            calls,
            f64::NEG_INFINITY,
            |a, b| if a > b || a.is_nan() { a } else { b },
            |x| x,
        ),
        (Elem::F64, Reduction::Min) => step(
            calls,
            f64::INFINITY,
            |a, b| if a < b || a.is_nan() { a } else { b },
            |x| x,
        ),
        (Elem::F64, Reduction::Product) => step(calls, 1.0f64, |a, b| a * b, |x| x),
        (Elem::I64, Reduction::Sum) => step(calls, 0i64, i64::wrapping_add, |x| x),
        (Elem::I64, Reduction::Mean) if count > 0 => step(calls, 0i64, i64::wrapping_add, move |x| x / count as i64),
        (Elem::I64, Reduction::Max) => step(calls, i64::MIN, i64::max, |x| x),
        (Elem::I64, Reduction::Min) => step(calls, i64::MAX, i64::min, |x| x),
        (Elem::I64, Reduction::Product) => step(calls, 1i64, i64::wrapping_mul, |x| x),
        (Elem::Bool, Reduction::Max) => step(calls, 0u8, u8::max, |x| x),
        (Elem::Bool, Reduction::Min) => step(calls, 1u8, u8::min, |x| x),
        _ => unsupported(site),
    }
}

/// Makes the step of a reduction. Groups of neighbouring axes are reduced one after the other, the last group first.
/// `calls` has the extents `[outer, reduced, inner]` of each group. `first` is the result of reducing no elements,
/// `join` combines a partial result with the next element, and `end` converts the reduced value to the result.
fn step<T: Pod + Send + Sync>(
    calls: Vec<[usize; 3]>,
    first: T,
    join: fn(T, T) -> T,
    end: impl Fn(T) -> T + Send + Sync + 'static,
) -> Result<Box<dyn Step>, StepError> {
    Ok(reading(1, move |io| {
        let mut values = io.input::<T>(0)?.to_vec();
        for &[outer, extent, inner] in &calls {
            let mut next = vec![first; outer * inner];
            if inner > 0 && extent > 0 {
                for (out, block) in next.chunks_exact_mut(inner).zip(values.chunks_exact(extent * inner)) {
                    for row in block.chunks_exact(inner) {
                        out.iter_mut().zip(row).for_each(|(o, &x)| *o = join(*o, x));
                    }
                }
            }
            values = next;
        }
        for (out, &value) in io.output::<T>()?.iter_mut().zip(&values) {
            *out = end(value);
        }
        Ok(())
    }))
}
