//! Reductions over axes.

use crate::prelude::*;
use strait_core::op::Reduction;
use strait_kernels::float;

/// Reduces groups of neighbouring axes one after the other, the last group first, each by one kernel call. A mean is a
/// sum that is divided at the end.
struct Reduce {
    reduction: Reduction,
    /// The extents `[outer, reduced, inner]` of each kernel call.
    calls: Vec<[usize; 3]>,
    /// Number of elements that are reduced to a single result.
    count: usize,
}

impl Executable for op::Reduce {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let dims = &site.input(0)?.dims;
        Ok(Box::new(Reduce {
            reduction: self.reduction,
            calls: runs(dims, &self.reduced(dims.len())?),
            count: self.reduced(dims.len())?.iter().map(|&axis| dims[axis]).product(),
        }))
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        match x.elem {
            Elem::F32 => Scratch::run(times(count(x), 2 * WORD)),
            _ => Scratch::default(),
        }
    }
}

/// Divides the reduced axes, which are sorted, into groups of neighbours. Returns the extents `[outer, reduced, inner]`
/// for each group, the last group first. When a group is reduced, the axes after it are already reduced.
pub(crate) fn runs(dims: &[usize], reduced: &[usize]) -> Vec<[usize; 3]> {
    let mut calls = Vec::new();
    let mut inner = 1;
    let mut end = dims.len();
    while end > 0 {
        let is_reduced = reduced.contains(&(end - 1));
        let start = (0..end)
            .rev()
            .take_while(|a| reduced.contains(a) == is_reduced)
            .last()
            .unwrap_or(0);
        let extent: usize = dims[start..end].iter().product();
        if is_reduced {
            calls.push([dims[..start].iter().product(), extent, inner]);
        } else {
            inner *= extent;
        }
        end = start;
    }
    calls
}

impl Step for Reduce {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let what = match self.reduction {
            Reduction::Sum | Reduction::Mean => float::Reduction::Sum,
            Reduction::Max => float::Reduction::Max,
            Reduction::Min => float::Reduction::Min,
            Reduction::Product => float::Reduction::Product,
        };
        let context = io.context;
        let input = io.input::<f32>(0)?;
        let out = io.output::<f32>()?;
        let Some((&last, before)) = self.calls.split_last() else {
            out.copy_from_slice(input);
            return Ok(());
        };
        let mut partial: Option<Vec<f32>> = None;
        for &[outer, extent, inner] in before {
            let mut next = vec![0.0; outer * inner];
            float::reduce(
                context,
                what,
                [outer, extent, inner],
                partial.as_deref().unwrap_or(input),
                &mut next,
            )?;
            partial = Some(next);
        }
        float::reduce(context, what, last, partial.as_deref().unwrap_or(input), out)?;
        if self.reduction == Reduction::Mean {
            let count = self.count as f32;
            out.iter_mut().for_each(|sum| *sum /= count);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_axes_are_one_call() {
        assert_eq!(runs(&[2, 3, 4, 5], &[2, 3]), [[6, 20, 1]]);
        assert_eq!(runs(&[2, 3, 4, 5], &[1]), [[2, 3, 20]]);
        assert_eq!(runs(&[2, 3, 4, 5], &[0, 2]), [[6, 4, 5], [1, 2, 15]]);
        assert_eq!(runs(&[2, 3], &[0, 1]), [[1, 6, 1]]);
        assert!(runs(&[2, 3], &[]).is_empty());
    }
}
