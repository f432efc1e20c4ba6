//! The largest or the smallest elements along an axis.

use super::{by_number, order};
use crate::layout::{around, axis};
use crate::prelude::*;
use crate::step::elements_mut;
use bytemuck::Pod;
use std::cmp::Ordering;

impl Executable for op::TopK {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let x = site.input(0)?;
        let axis = axis(self.axis, x.dims.len())?;
        let (extents, count) = (around(&x.dims, axis), site.output()?.dims[axis]);
        let largest = self.largest;
        by_number!(site, x.elem, T => Ok(reading(1, move |io| run::<T>(largest, count, extents, io))))
    }

    fn takes_any_type(&self) -> bool {
        true
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        Scratch::run(times(along(x, self.axis), 2 * WORD))
    }
}

/// Runs the op. The array has three extents: the product of the extents before the axis, the extent of the axis, and
/// the product of the extents after it.
fn run<T: Pod + PartialOrd>(
    largest: bool,
    count: usize,
    [_, extent, inner]: [usize; 3],
    io: &mut Io<'_>,
) -> Result<(), StepError> {
    let x = io.input::<T>(0)?;
    let mut outputs = io.outputs.iter_mut();
    let (Some(values), Some(indices)) = (outputs.next(), outputs.next()) else {
        return Err(StepError::Ours("the largest elements without both results".into()));
    };
    let (values, indices) = (elements_mut::<T>(values)?, elements_mut::<i64>(indices)?);
    let compare = |a: &(T, usize), b: &(T, usize)| -> Ordering {
        let ordered = order(&a.0, &b.0);
        (if largest { ordered.reverse() } else { ordered }).then(a.1.cmp(&b.1))
    };
    let made = (count * inner).max(1);
    let blocks = values.chunks_exact_mut(made).zip(indices.chunks_exact_mut(made));
    for ((values, indices), x) in blocks.zip(x.chunks_exact((extent * inner).max(1))) {
        for column in 0..inner {
            let mut row: Vec<(T, usize)> = x.iter().skip(column).step_by(inner).copied().zip(0..).collect();
            if count < row.len() {
                row.select_nth_unstable_by(count, compare);
                row.truncate(count);
            }
            row.sort_unstable_by(compare);
            for (at, (value, index)) in row.into_iter().enumerate() {
                values[at * inner + column] = value;
                indices[at * inner + column] = index as i64;
            }
        }
    }
    Ok(())
}
