//! Regions of an image in bins.

use crate::elementwise::for_each_piece;
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use strait_core::op::{self, RoiMode};

/// The most samples of one bin along an axis: a region without bounds would ask for more than anybody can wait for.
const MOST_SAMPLES: f32 = 65536.0;

struct RoiAlign {
    op: op::RoiAlign,
    batch: usize,
    channels: usize,
    /// Height and width of the operand.
    size: [usize; 2],
}

pub(crate) fn prepare(op: &op::RoiAlign, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let &[batch, channels, height, width] = &site.input(0)?.dims[..] else {
        return Err(StepError::Model(
            "regions of an operand that is no batch of images".into(),
        ));
    };
    Ok(Box::new(RoiAlign {
        op: op.clone(),
        batch,
        channels,
        size: [height, width],
    }))
}

/// The four neighbours of a sample in a channel, with their weights; `None` beside the image.
type Sample = Option<[(usize, f32); 4]>;

impl RoiAlign {
    /// A sample at row `y` and column `x`.
    fn sample(&self, y: f32, x: f32) -> Sample {
        let [height, width] = self.size;
        let inside = |at: f32, extent: usize| (-1.0..=extent as f32).contains(&at);
        if !inside(y, height) || !inside(x, width) {
            return None;
        }
        let along = |at: f32, extent: usize| {
            let at = at.max(0.0);
            let low = (at as usize).min(extent - 1);
            let high = (low + 1).min(extent - 1);
            let weight = if low == high { 0.0 } else { at - low as f32 };
            ([low, high], [1.0 - weight, weight])
        };
        let (rows, down) = along(y, height);
        let (columns, across) = along(x, width);
        let neighbour = |i: usize, j: usize| (rows[i] * width + columns[j], down[i] * across[j]);
        Some([neighbour(0, 0), neighbour(0, 1), neighbour(1, 0), neighbour(1, 1)])
    }

    /// The samples of each bin of a region, bin by bin.
    fn samples(&self, corners: &[f32]) -> Result<Vec<Vec<Sample>>, StepError> {
        let offset = if self.op.half_pixel { 0.5 } else { 0.0 };
        let at = |index: usize| corners[index] * self.op.scale - offset;
        let along = |start: f32, end: f32, bins: u32| {
            let extent = if self.op.half_pixel {
                end - start
            } else {
                (end - start).max(1.0)
            };
            let bin = extent / bins as f32;
            let samples = if self.op.sampling > 0 {
                self.op.sampling as f32
            } else {
                bin.ceil().max(0.0)
            };
            if samples > MOST_SAMPLES || samples.is_nan() {
                return Err(StepError::Model(format!(
                    "a region from {start} to {end} has too many samples"
                )));
            }
            let position = move |index: usize| {
                let (whole, part) = (index / samples as usize, index % samples as usize);
                start + whole as f32 * bin + (part as f32 + 0.5) * bin / samples
            };
            let positions: Vec<f32> = (0..bins as usize * samples as usize).map(position).collect();
            Ok((positions, samples as usize))
        };
        let (rows, down) = along(at(1), at(3), self.op.height)?;
        let (columns, across) = along(at(0), at(2), self.op.width)?;
        let bin = |index: usize| {
            let (row, column) = (index / self.op.width as usize, index % self.op.width as usize);
            let rows = &rows[row * down..(row + 1) * down];
            let columns = &columns[column * across..(column + 1) * across];
            rows.iter()
                .flat_map(|&y| columns.iter().map(move |&x| self.sample(y, x)))
                .collect()
        };
        Ok((0..self.op.height as usize * self.op.width as usize).map(bin).collect())
    }

    /// The rows and columns of whole elements of each bin, bin by bin: corners and borders of bins are rounded.
    fn elements(&self, corners: &[f32]) -> Vec<[std::ops::Range<usize>; 2]> {
        // Half away from zero.
        let corner = |index: usize| (corners[index] * self.op.scale).round();
        let along = |start: f32, end: f32, bins: u32, extent: usize| -> Vec<std::ops::Range<usize>> {
            let bin = (end - start + 1.0).max(1.0) / bins as f32;
            // A float to usize saturates at 0.
            let border = |at: f32| ((at + start) as usize).min(extent);
            let range = |index: u32| border((index as f32 * bin).floor())..border(((index + 1) as f32 * bin).ceil());
            (0..bins).map(range).collect()
        };
        let rows = along(corner(1), corner(3), self.op.height, self.size[0]);
        let columns = along(corner(0), corner(2), self.op.width, self.size[1]);
        rows.iter()
            .flat_map(|rows| columns.iter().map(move |columns| [rows.clone(), columns.clone()]))
            .collect()
    }

    fn largest(&self, image: &[f32], [rows, columns]: &[std::ops::Range<usize>; 2]) -> f32 {
        let width = self.size[1];
        let elements = rows
            .clone()
            .flat_map(|y| image[y * width..].iter().take(columns.end).skip(columns.start));
        elements
            .copied()
            .reduce(|most, x| if x > most { x } else { most })
            .unwrap_or(0.0)
    }

    fn interpolated(&self, image: &[f32], samples: &[Sample]) -> f32 {
        let none = [(0, 0.0); 4];
        let products = |sample: &Sample| sample.unwrap_or(none).map(|(at, weight)| weight * image[at]);
        if self.op.mode == RoiMode::Average {
            let sum = samples
                .iter()
                .fold(0.0, |sum, sample| sum + products(sample).iter().sum::<f32>());
            return sum / samples.len().max(1) as f32;
        }
        let most = |most: f32, x: f32| if x > most { x } else { most };
        let all = samples
            .iter()
            .map(|sample| products(sample).into_iter().reduce(most).unwrap_or(0.0));
        all.reduce(most).unwrap_or(0.0)
    }
}

impl Step for RoiAlign {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (x, regions, images) = (io.input::<f32>(0)?, io.input::<f32>(1)?, io.input::<i64>(2)?);
        let out = io.output::<f32>()?;
        let plane = self.size[0] * self.size[1];
        let bins = self.op.height as usize * self.op.width as usize;
        for_each_piece(out, self.channels * bins, |first, out| {
            let region = first / (self.channels * bins).max(1);
            let corners = &regions[region * 4..(region + 1) * 4];
            let image = usize::try_from(images[region]).ok().filter(|&image| image < self.batch);
            let image = image.ok_or_else(|| {
                StepError::Model(format!(
                    "a region of image {}, of which there are {}",
                    images[region], self.batch
                ))
            })?;
            let image = &x[image * self.channels * plane..(image + 1) * self.channels * plane];
            let channels = image.chunks_exact(plane).zip(out.chunks_exact_mut(bins));
            if self.op.mode == RoiMode::Elements {
                let elements = self.elements(corners);
                for (image, out) in channels {
                    out.iter_mut()
                        .zip(&elements)
                        .for_each(|(out, bin)| *out = self.largest(image, bin));
                }
            } else {
                let samples = self.samples(corners)?;
                for (image, out) in channels {
                    out.iter_mut()
                        .zip(&samples)
                        .for_each(|(out, bin)| *out = self.interpolated(image, bin));
                }
            }
            Ok(())
        })
    }
}
