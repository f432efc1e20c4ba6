//! The position of the largest or smallest element along an axis.

use super::by_number;
use crate::layout::{around, axis};
use crate::prelude::*;
use bytemuck::Pod;
use std::marker::PhantomData;
use strait_core::op::Extreme;

struct ArgReduce<T> {
    op: op::ArgReduce,
    /// The product of the extents before the axis, the extent of the axis, and the product of those after it.
    extents: [usize; 3],
    elements: PhantomData<T>,
}

impl Executable for op::ArgReduce {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let x = site.input(0)?;
        let extents = around(&x.dims, axis(self.axis, x.dims.len())?);
        let op = self.clone();
        by_number!(site, x.elem, T => Ok(Box::new(ArgReduce::<T> { op, extents, elements: PhantomData })))
    }

    fn takes_any_type(&self) -> bool {
        true
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        Scratch::run(times(behind(x, self.axis), WORD))
    }
}

impl<T: Pod + PartialOrd + Send + Sync> ArgReduce<T> {
    /// True if the element `new` replaces `old`, the best element before `new`.
    #[allow(clippy::eq_op, reason = "the one test for NaN that all numbers have")]
    fn replaces(&self, new: T, old: T) -> bool {
        if new != new || old != old {
            return new != new && (old == old || self.op.last);
        }
        let further = match self.op.extreme {
            Extreme::Maximum => new > old,
            Extreme::Minimum => new < old,
        };
        further || self.op.last && new == old
    }
}

impl<T: Pod + PartialOrd + Send + Sync> Step for ArgReduce<T> {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input::<T>(0)?;
        let [_, extent, inner] = self.extents;
        let block = (extent * inner).max(1);
        for (x, out) in x
            .chunks_exact(block)
            .zip(io.output::<i64>()?.chunks_exact_mut(inner.max(1)))
        {
            out.fill(0);
            let mut best = x[..inner].to_vec();
            for (position, row) in x.chunks_exact(inner.max(1)).enumerate().skip(1) {
                for ((out, best), &x) in out.iter_mut().zip(&mut best).zip(row) {
                    if self.replaces(x, *best) {
                        (*out, *best) = (position as i64, x);
                    }
                }
            }
        }
        Ok(())
    }
}
