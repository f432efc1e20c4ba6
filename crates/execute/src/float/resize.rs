//! Resizing with interpolation, one axis after the other.

use crate::layout;
use crate::layout::around;
use crate::layout::resize::{coordinate, nearest};
use crate::prelude::*;
use strait_core::Dim;
use strait_core::op::{Coordinate, ResizeMode};

/// One resized axis.
struct Axis {
    /// The product of the extents before the axis, the extent of the axis, and the product of the extents after it,
    /// when this axis is resized.
    extents: [usize; 3],
    /// Number of neighbours of each result position.
    count: usize,
    /// The index and weight of each neighbour, for each position of the result.
    taps: Vec<(usize, f32)>,
    /// For each position of the result: true if its coordinate lies outside of the operand.
    outside: Vec<bool>,
}

struct Resize {
    axes: Vec<Axis>,
    /// The value of the result for coordinates outside of the operand.
    beside: f32,
}

/// Returns the largest number of neighbours that a position has along an axis. Estimates of memory use it, too.
pub(crate) fn neighbours(op: &op::Resize, axis: usize, [from, to]: [usize; 2]) -> usize {
    let reach = match op.mode {
        ResizeMode::Nearest => return 1,
        ResizeMode::Linear => 1.0,
        ResizeMode::Cubic => 2.0,
    };
    2 * (reach / width(op, axis, [from, to])).ceil() as usize
}

/// Returns the scale of an axis that shrinks, if antialiasing makes the filter wider. Otherwise returns 1.
fn width(op: &op::Resize, axis: usize, [from, to]: [usize; 2]) -> f32 {
    let scale = op.scales.get(axis).copied().unwrap_or(to as f32 / from.max(1) as f32);
    // The filter covers at most twice as many elements as the operand has.
    if op.antialias {
        scale.min(1.0).max(1.0 / from.max(1) as f32)
    } else {
        1.0
    }
}

/// Returns the weight of a neighbour at this distance. The weights of a position are later scaled to the sum 1.
fn weight(op: &op::Resize, distance: f32) -> f32 {
    let (a, x) = (op.cubic, distance.abs());
    match op.mode {
        ResizeMode::Nearest => 1.0,
        ResizeMode::Linear => (1.0 - x).max(0.0),
        ResizeMode::Cubic if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        ResizeMode::Cubic if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
        ResizeMode::Cubic => 0.0,
    }
}

/// Appends the neighbours of one position of the result to `taps`. `at` is the coordinate of this position in the
/// operand.
fn taps(op: &op::Resize, axis: usize, extents: [usize; 2], at: f32, taps: &mut Vec<(usize, f32)>) {
    let last = extents[0].saturating_sub(1);
    let plain = !op.antialias;
    match op.mode {
        ResizeMode::Nearest => taps.push((nearest(op.nearest, at, extents[0]), 1.0)),
        // If a coordinate is outside of the operand, both neighbours are the border element, even if the op excludes
        // elements outside of the operand.
        ResizeMode::Linear if plain => {
            let at = at.clamp(0.0, last as f32);
            let lower = at.floor() as usize;
            let weight = at - lower as f32;
            taps.extend([(lower, 1.0 - weight), ((lower + 1).min(last), weight)]);
        }
        ResizeMode::Linear | ResizeMode::Cubic => {
            let (scale, count) = (width(op, axis, extents), neighbours(op, axis, extents));
            let below = at.floor();
            let first = below + 1.0 - (count / 2) as f32;
            let start = taps.len();
            for index in 0..count {
                let place = first + index as f32;
                let inside = (0.0..=last as f32).contains(&place);
                let taken = inside || !op.exclude_outside;
                let weight = if taken { weight(op, (place - at) * scale) } else { 0.0 };
                taps.push((place.clamp(0.0, last as f32) as usize, weight));
            }
            let sum: f32 = taps[start..].iter().map(|(_, weight)| weight).sum();
            if (op.antialias || op.exclude_outside) && sum != 0.0 {
                taps[start..].iter_mut().for_each(|(_, weight)| *weight /= sum);
            }
        }
    }
}

impl Executable for op::Resize {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        if self.moves() {
            return layout::resize::prepare(self, site);
        }
        let (x, result) = (site.input(0)?, site.output()?);
        let mut dims = x.dims.clone();
        let mut axes = Vec::new();
        let crops = self.coordinate == Coordinate::Crop;
        let rank = dims.len();
        for axis in 0..rank {
            let (from, to) = (dims[axis], result.dims[axis]);
            let whole = !crops || (self.region.get(axis), self.region.get(rank + axis)) == (Some(&0.0), Some(&1.0));
            if from == to && self.scales.get(axis).is_none_or(|&s| s == 1.0) && whole {
                continue;
            }
            let mut all = Vec::new();
            let mut outside = Vec::with_capacity(to);
            for i in 0..to {
                let at = coordinate(self, axis, [from, to], i);
                outside.push(crops && !(0.0..=from.saturating_sub(1) as f32).contains(&at));
                taps(self, axis, [from, to], at, &mut all);
            }
            axes.push(Axis {
                extents: around(&dims, axis),
                count: neighbours(self, axis, [from, to]),
                taps: all,
                outside,
            });
            dims[axis] = to;
        }
        let beside = self.region.last().copied().unwrap_or(0.0);
        Ok(Box::new(Resize { axes, beside }))
    }

    fn takes_any_type(&self) -> bool {
        self.moves()
    }

    fn scratch(&self, x: &TensorType, y: &TensorType, _: &Types<'_>) -> Scratch {
        let along = |(axis, (from, to)): (usize, (&Dim, &Dim))| {
            let [from, to] = [from, to].map(|dim| dim.fixed().unwrap_or(u64::MAX) as usize);
            times(to as u64, 1 + 2 * WORD * neighbours(self, axis, [from, to]) as u64)
        };
        let held = x.shape.iter().zip(&y.shape).enumerate().map(along);
        Scratch {
            held: held.fold(0, u64::saturating_add),
            run: if self.moves() { 0 } else { times(between(x, y), WORD) },
        }
    }
}

impl Step for Resize {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let mut values = io.input::<f32>(0)?.to_vec();
        for axis in &self.axes {
            let [_, extent, inner] = axis.extents;
            let mut next = Vec::with_capacity(values.len() / extent.max(1) * axis.outside.len());
            if extent * inner > 0 {
                for block in values.chunks_exact(extent * inner) {
                    for (taps, &outside) in axis.taps.chunks_exact(axis.count).zip(&axis.outside) {
                        let start = next.len();
                        if outside {
                            next.resize(start + inner, self.beside);
                            continue;
                        }
                        let row = |at: usize| &block[at * inner..(at + 1) * inner];
                        let (first, others) = (taps[0], &taps[1..]);
                        next.extend(row(first.0).iter().map(|x| x * first.1));
                        for &(at, weight) in others {
                            let sums = next[start..].iter_mut().zip(row(at));
                            sums.for_each(|(sum, x)| *sum += x * weight);
                        }
                    }
                }
            }
            values = next;
        }
        io.output::<f32>()?.copy_from_slice(&values);
        Ok(())
    }
}
