//! Cumulative sums and products along an axis.

use super::by_number;
use super::scatter::Number;
use crate::layout::{around, axis};
use crate::prelude::*;
use strait_core::op::Running;

impl Executable for op::Cumulative {
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

/// Runs the op. The array has three extents: the product of the extents before the axis, the extent of the axis, and
/// the product of the extents after it.
fn run<T: Number>(op: &op::Cumulative, [_, extent, inner]: [usize; 3], io: &mut Io<'_>) -> Result<(), StepError> {
    let x = io.input::<T>(0)?;
    let block = (extent * inner).max(1);
    let (start, combine): (T, fn(T, T) -> T) = match op.of {
        Running::Sum => (T::zeroed(), T::plus),
        Running::Product => (T::ONE, T::times),
    };
    for (x, out) in x.chunks_exact(block).zip(io.output::<T>()?.chunks_exact_mut(block)) {
        let mut state = vec![start; inner];
        for turn in 0..extent {
            let at = if op.reverse { extent - 1 - turn } else { turn };
            let (x, out) = (&x[at * inner..(at + 1) * inner], &mut out[at * inner..(at + 1) * inner]);
            for ((out, state), &x) in out.iter_mut().zip(&mut state).zip(x) {
                let next = combine(*state, x);
                *out = if op.exclusive { *state } else { next };
                *state = next;
            }
        }
    }
    Ok(())
}
