//! The position of the largest or smallest element along an axis.

use super::by_number;
use crate::layout::{around, axis};
use crate::prelude::*;
use bytemuck::Pod;
use strait_core::op::Extreme;

impl Executable for op::ArgReduce {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let x = site.input(0)?;
        let extents = around(&x.dims, axis(self.axis, x.dims.len())?);
        let op = self.clone();
        by_number!(site, x.elem, T => Ok(reading(1, move |io| run::<T>(&op, extents, io))))
    }

    fn takes_any_type(&self) -> bool {
        true
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        Scratch::run(times(behind(x, self.axis), WORD))
    }
}

/// True if `new` takes the place of `old`, the best element so far.
#[allow(clippy::eq_op, reason = "the one test for NaN that all numbers have")]
fn replaces<T: PartialOrd + Copy>(op: &op::ArgReduce, new: T, old: T) -> bool {
    if new != new || old != old {
        return new != new && (old == old || op.last);
    }
    let further = match op.extreme {
        Extreme::Maximum => new > old,
        Extreme::Minimum => new < old,
    };
    further || op.last && new == old
}

/// Runs the op. The array has three extents: the product of the extents before the axis, the extent of the axis, and
/// the product of the extents after it.
fn run<T: Pod + PartialOrd>(
    op: &op::ArgReduce,
    [_, extent, inner]: [usize; 3],
    io: &mut Io<'_>,
) -> Result<(), StepError> {
    let x = io.input::<T>(0)?;
    let block = (extent * inner).max(1);
    for (x, out) in x
        .chunks_exact(block)
        .zip(io.output::<i64>()?.chunks_exact_mut(inner.max(1)))
    {
        out.fill(0);
        let mut best = x[..inner].to_vec();
        for (position, row) in x.chunks_exact(inner.max(1)).enumerate().skip(1) {
            for ((out, best), &x) in out.iter_mut().zip(&mut best).zip(row) {
                if replaces(op, x, *best) {
                    (*out, *best) = (position as i64, x);
                }
            }
        }
    }
    Ok(())
}
