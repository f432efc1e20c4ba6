//! Linear resampling, one axis after the other.

use crate::error::StepError;
use crate::layout::{around, resize::coordinate};
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use strait_core::op;

/// Per resized axis: its extents `[outer, axis, inner]` when its turn comes, and for each output position the lower
/// neighbour, the upper one and the weight of the upper one.
struct Resize {
    axes: Vec<([usize; 3], Vec<(usize, usize, f32)>)>,
}

pub(crate) fn prepare(op: &op::Resize, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let (x, result) = (site.input(0)?, site.output()?);
    let mut dims = x.dims.clone();
    let mut axes = Vec::new();
    for axis in 0..dims.len() {
        let (from, to) = (dims[axis], result.dims[axis]);
        if from == to && op.scales.get(axis).is_none_or(|&s| s == 1.0) {
            continue;
        }
        let last = from.saturating_sub(1);
        let neighbours = |i: usize| {
            let at = coordinate(op, axis, [from, to], i).clamp(0.0, last as f32);
            let lower = at.floor() as usize;
            (lower, (lower + 1).min(last), at - lower as f32)
        };
        axes.push((around(&dims, axis), (0..to).map(neighbours).collect()));
        dims[axis] = to;
    }
    Ok(Box::new(Resize { axes }))
}

impl Step for Resize {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let mut values = io.input::<f32>(0)?.to_vec();
        for ([_, extent, inner], neighbours) in &self.axes {
            let mut next = Vec::with_capacity(values.len() / extent.max(&1) * neighbours.len());
            if extent * inner > 0 {
                for block in values.chunks_exact(extent * inner) {
                    for &(lower, upper, weight) in neighbours {
                        let row = |at: usize| &block[at * inner..(at + 1) * inner];
                        next.extend(
                            row(lower)
                                .iter()
                                .zip(row(upper))
                                .map(|(&a, &b)| a * (1.0 - weight) + b * weight),
                        );
                    }
                }
            }
            values = next;
        }
        io.output::<f32>()?.copy_from_slice(&values);
        Ok(())
    }
}
