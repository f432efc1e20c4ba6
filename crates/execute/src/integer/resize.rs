//! Resizes codes linearly, one axis after the other. The order of the axes does not change the result, because all sums
//! are exact.

use super::operands::{Prepared, codes};
use crate::layout::around;
use crate::prelude::*;
use crate::reference::{Array, write};
use crate::site::Shape;
use strait_requantize::Rounding;
use strait_requantize::function::{Neighbours, resampled};

struct Resize {
    x: Shape,
    out: Elem,
    /// For each resized axis, the extents `[outer, axis, inner]` when this axis is resized, and the neighbours of each
    /// position.
    axes: Vec<([usize; 3], Vec<Neighbours>)>,
    fraction: u8,
    rounding: Rounding,
}

impl Executable for op::IntegerResize {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        unsupported(site)
    }

    fn scratch(&self, x: &TensorType, y: &TensorType, _: &Types<'_>) -> Scratch {
        // The same memory as for a resize of floats, plus a copy of each element of the operand.
        Scratch {
            held: times(sum_from(y, 0), TAPS),
            run: times(between(x, y), 2 * WORD),
        }
    }
}

pub(crate) fn prepare(op: &op::IntegerResize, site: &NodeSlots<'_>) -> Prepared {
    let (x, result) = (site.input(0)?, site.output()?);
    if site.fused.is_some() || codes(x).is_none() {
        return Ok(None);
    }
    let (mut dims, mut axes) = (x.dims.clone(), Vec::new());
    for axis in 0..dims.len() {
        let (from, to) = (dims[axis], result.dims[axis]);
        if from != to {
            let along = op.along(from as u64, to as u64);
            let Some(neighbours) = (0..to as u64).map(|position| along.at(position)).collect() else {
                return Ok(None);
            };
            axes.push((around(&dims, axis), neighbours));
            dims[axis] = to;
        }
    }
    Ok(Some(Box::new(Resize {
        x: x.shape(),
        out: result.elem,
        axes,
        fraction: op.fraction,
        rounding: op.rounding,
    })))
}

impl Step for Resize {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let mut values = Array::read(&self.x, io.input(0)?)?.values;
        let whole = 1i64 << self.fraction;
        for ([_, extent, inner], neighbours) in &self.axes {
            let mut next = Vec::with_capacity(values.len() / extent.max(&1) * neighbours.len());
            for block in values.chunks_exact((extent * inner).max(1)) {
                for &Neighbours { lower, upper, weight } in neighbours {
                    let row = |at: u64| &block[at as usize * inner..(at as usize + 1) * inner];
                    let weight = i64::from(weight);
                    let both = row(lower).iter().zip(row(upper));
                    next.extend(both.map(|(&a, &b)| a * (whole - weight) + b * weight));
                }
            }
            values = next;
        }
        // The weights have at most 16 bits for each axis, and at most 44 bits for all axes together.
        let bits = self.fraction.saturating_mul(self.axes.len() as u8);
        values
            .iter_mut()
            .for_each(|sum| *sum = resampled(*sum, bits, self.rounding));
        write(self.out, &values, io.output::<u8>()?)
    }
}
