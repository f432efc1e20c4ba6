//! Samples an image at positions that an operand gives. All channels use the same neighbours and weights for a
//! position.

use crate::elementwise::for_each_piece;
use crate::prelude::*;
use strait_core::op::{Border, Sampling};

struct GridSample {
    op: op::GridSample,
    batch: usize,
    channels: usize,
    /// Spatial extents of the operand.
    spatial: Vec<usize>,
    /// Number of positions in one channel of the result.
    positions: usize,
}

impl Executable for op::GridSample {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, y) = (&site.input(0)?.dims, &site.output()?.dims);
        let [batch, channels, spatial @ ..] = &x[..] else {
            return Err(StepError::Model(format!("samples of rank {}", x.len())));
        };
        Ok(Box::new(GridSample {
            op: self.clone(),
            batch: *batch,
            channels: *channels,
            spatial: spatial.to_vec(),
            positions: y[2..].iter().product(),
        }))
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        let axes = types.operand(0).map_or(0, |x| x.shape.len().saturating_sub(2)) as u32;
        types.each(match self.mode {
            Sampling::Nearest => 1,
            Sampling::Linear => 2u64.saturating_pow(axes),
            Sampling::Cubic => 4u64.saturating_pow(axes),
        })
    }

    fn scratch(&self, x: &TensorType, y: &TensorType, _: &Types<'_>) -> Scratch {
        let each = count(y) / extent(y, 0).max(1);
        Scratch::run(times(each, FLOAT).saturating_add(times(TAPS, 1 << (2 * x.shape.len()).min(16))))
    }
}

/// Returns a coordinate between `least` and `most`. A coordinate outside of this range is mirrored at the bounds.
fn reflect(at: f32, least: f32, most: f32) -> f32 {
    let range = most - least;
    let beyond = if at < least {
        least - at
    } else if at > most {
        at - most
    } else {
        return at;
    };
    if range <= 0.0 || !beyond.is_finite() {
        return least;
    }
    let turns = (beyond / range).floor();
    let rest = beyond - turns * range;
    let even = turns % 2.0 == 0.0;
    if even == (at < least) {
        least + rest
    } else {
        most - rest
    }
}

/// Returns the weights that cubic convolution with the coefficient `a` gives to the four neighbours of a position. `x`
/// is the distance from the second neighbour to the position.
pub(crate) fn cubic(a: f32, x: f32) -> [f32; 4] {
    let near = |x: f32| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    let far = |x: f32| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    [far(x + 1.0), near(x), near(1.0 - x), far(2.0 - x)]
}

impl GridSample {
    /// Finds the neighbours of a position along one axis. `number` is the position's coordinate in the operand `grid`.
    /// Returns the indices of up to four neighbours, their weights, and the number of neighbours. `None` stands for a
    /// neighbour outside of the image. The value of such a neighbour is 0.
    fn neighbours(&self, axis: usize, number: f32) -> ([Option<usize>; 4], [f32; 4], usize) {
        let extent = self.spatial[axis];
        let length = extent as f32;
        let (mut at, least, most) = if self.op.align_corners {
            ((number + 1.0) / 2.0 * (length - 1.0), 0.0, length - 1.0)
        } else {
            (((number + 1.0) * length - 1.0) / 2.0, -0.5, length - 0.5)
        };
        if self.op.mode == Sampling::Nearest {
            at = at.round_ties_even();
        }
        if !(least..=most).contains(&at) {
            match self.op.border {
                Border::Zeros => {}
                // Each position has four neighbours; outside of the image, the border element takes the place of a
                // neighbour. Beyond these bounds, all four are the border element.
                Border::Edge if self.op.mode == Sampling::Cubic => at = at.clamp(-2.0, length + 1.0),
                Border::Edge => at = at.clamp(0.0, length - 1.0),
                Border::Reflection => at = reflect(at, least, most),
            }
        }
        let element = |index: f32| -> Option<usize> {
            let inside = (0.0..length).contains(&index);
            let index = match self.op.border {
                Border::Zeros if !inside => return None,
                Border::Zeros => index,
                Border::Edge => index,
                Border::Reflection => reflect(index, least, most),
            };
            // A conversion from float to usize saturates at 0, and gives 0 for NaN.
            Some((index as usize).min(extent - 1))
        };
        let below = at.floor();
        match self.op.mode {
            Sampling::Nearest => ([element(at), None, None, None], [1.0, 0.0, 0.0, 0.0], 1),
            Sampling::Linear => {
                let weight = at - below;
                (
                    [element(below), element(below + 1.0), None, None],
                    [1.0 - weight, weight, 0.0, 0.0],
                    2,
                )
            }
            Sampling::Cubic => {
                let indices = [below - 1.0, below, below + 1.0, below + 2.0].map(element);
                (indices, cubic(-0.75, at - below), 4)
            }
        }
    }

    /// Lists the elements that a position reads, with their weights, in row-major order. An element is given by its
    /// index in its channel.
    fn taps(&self, position: &[f32], taps: &mut Vec<(usize, f32)>) {
        taps.clear();
        taps.push((0, 1.0));
        for (axis, &extent) in self.spatial.iter().enumerate() {
            // The coordinates of a position begin with the innermost axis.
            let (indices, weights, count) = self.neighbours(axis, position[self.spatial.len() - 1 - axis]);
            let before = std::mem::take(taps);
            for (place, weight) in before {
                for (index, along) in indices.iter().zip(weights).take(count) {
                    if let Some(index) = index {
                        taps.push((place * extent + index, weight * along));
                    }
                }
            }
        }
    }
}

impl Step for GridSample {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (x, grid) = (io.input::<f32>(0)?, io.input::<f32>(1)?);
        let out = io.output::<f32>()?;
        let plane: usize = self.spatial.iter().product();
        let axes = self.spatial.len();
        let each = self.positions * axes;
        // The outer loop is over positions, so that the neighbours of a position are computed only once for all
        // channels.
        let mut samples = vec![0.0; self.channels * self.positions];
        for image in 0..self.batch {
            let x = &x[image * self.channels * plane..(image + 1) * self.channels * plane];
            let grid = &grid[image * each..(image + 1) * each];
            for_each_piece(&mut samples, self.channels, &|first, samples| {
                let at = first / self.channels.max(1) * axes;
                let mut taps = Vec::new();
                self.taps(&grid[at..at + axes], &mut taps);
                for (sample, channel) in samples.iter_mut().zip(x.chunks_exact(plane)) {
                    *sample = taps
                        .iter()
                        .fold(0.0, |sum, &(place, weight)| sum + weight * channel[place]);
                }
                Ok(())
            })?;
            let out = &mut out[image * samples.len()..(image + 1) * samples.len()];
            for (channel, out) in out.chunks_exact_mut(self.positions.max(1)).enumerate() {
                let of_channel = samples.iter().skip(channel).step_by(self.channels);
                out.iter_mut().zip(of_channel).for_each(|(out, &sample)| *out = sample);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_is_mirrored_at_the_nearer_end_until_it_is_inside() {
        for (at, expected) in [
            (-1.0, 1.0),
            (2.5, 2.5),
            (4.0, 2.0),
            (-4.0, 2.0),
            (7.0, 1.0),
            (-7.0, 1.0),
        ] {
            assert_eq!(reflect(at, 0.0, 3.0), expected, "{at}");
        }
        assert_eq!((reflect(5.0, 0.0, 0.0), reflect(f32::INFINITY, 0.0, 3.0)), (0.0, 0.0));
    }

    #[test]
    fn cubic_weights_are_those_of_the_formula_and_add_up_to_one() {
        // The weights for x = ¼ and a = −¾, computed by hand, in 256ths.
        let expected = [-27.0 / 256.0, 225.0 / 256.0, 67.0 / 256.0, -9.0 / 256.0];
        assert_eq!(cubic(-0.75, 0.25), expected);
        assert_eq!(cubic(-0.75, 0.0), [0.0, 1.0, 0.0, 0.0]);
    }
}
