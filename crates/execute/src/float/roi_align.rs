//! RoiAlign and RoiPool: divides regions of an image into bins, and computes one value for each bin.

use crate::elementwise::for_each_piece;
use crate::prelude::*;
use strait_core::op::RoiMode;

/// The largest number of samples of a bin along one axis. Without a limit, a huge region would take endless time.
const MOST_SAMPLES: f32 = 65536.0;

struct RoiAlign {
    op: op::RoiAlign,
    batch: usize,
    channels: usize,
    /// Height and width of the operand.
    size: [usize; 2],
}

impl Executable for op::RoiAlign {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let &[batch, channels, height, width] = &site.input(0)?.dims[..] else {
            return Err(StepError::Model(
                "regions of an operand that is no batch of images".into(),
            ));
        };
        Ok(Box::new(RoiAlign {
            op: self.clone(),
            batch,
            channels,
            size: [height, width],
        }))
    }

    fn indices(&self) -> Option<usize> {
        Some(2)
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        // A sample has four neighbours. If the number of samples depends on the size of a region, the number of
        // elements of the image is used as an upper bound.
        let extents = types.operand(0).into_iter().flat_map(|x| x.shape.iter().skip(2));
        let plane: u64 = extents.map(|dim| dim.fixed().unwrap_or(1)).product();
        let bins = u64::from(self.height).saturating_mul(self.width.into()).max(1);
        types.each(match self.sampling {
            0 => 4 * (plane / bins + 1),
            samples => 4 * u64::from(samples).saturating_mul(samples.into()),
        })
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        // Each sample has two neighbours along an axis. If the number of samples depends on the size of a region, the
        // number of elements along the axis is used as an upper bound.
        let along = |bins: u32, extent: u64| match self.sampling {
            0 => extent.saturating_add(bins.into()),
            samples => u64::from(bins).saturating_mul(samples.into()),
        };
        let samples = along(self.height, extent(x, 2)).saturating_add(along(self.width, extent(x, 3)));
        Scratch::run(times(samples, 5 * WORD))
    }
}

/// The two neighbours of a sample along an axis, each with its weight; `None` if the sample is outside of the image.
type Sample = Option<[(usize, f32); 2]>;

/// The samples of a region along one axis, ordered by bin.
struct Along {
    samples: Vec<Sample>,
    /// Number of samples per bin.
    each: usize,
}

impl Along {
    /// Returns the samples of a bin that lie in the image.
    fn inside(&self, bin: usize) -> impl Iterator<Item = &[(usize, f32); 2]> + Clone {
        self.samples[bin * self.each..(bin + 1) * self.each].iter().flatten()
    }
}

impl RoiAlign {
    /// Returns the samples of a region from `start` to `end`, along an axis of `extent` elements.
    fn along(&self, [start, end]: [f32; 2], bins: u32, extent: usize) -> Result<Along, StepError> {
        let size = if self.op.half_pixel {
            end - start
        } else {
            (end - start).max(1.0)
        };
        let bin = size / bins as f32;
        let samples = match self.op.sampling {
            0 => bin.ceil().max(0.0),
            samples => samples as f32,
        };
        if samples > MOST_SAMPLES || samples.is_nan() {
            let text = format!("a region from {start} to {end} has too many samples");
            return Err(StepError::Model(text));
        }
        let each = samples as usize;
        let sample = |index: usize| {
            let (whole, part) = (index / each, index % each);
            let at = start + whole as f32 * bin + (part as f32 + 0.5) * bin / samples;
            if !(-1.0..=extent as f32).contains(&at) {
                return None;
            }
            let at = at.max(0.0);
            let low = (at as usize).min(extent - 1);
            let high = (low + 1).min(extent - 1);
            let weight = if low == high { 0.0 } else { at - low as f32 };
            Some([(low, 1.0 - weight), (high, weight)])
        };
        Ok(Along {
            samples: (0..bins as usize * each).map(sample).collect(),
            each,
        })
    }

    /// Returns the samples of a region along the rows, and along the columns.
    fn samples(&self, corners: &[f32]) -> Result<[Along; 2], StepError> {
        let offset = if self.op.half_pixel { 0.5 } else { 0.0 };
        let at = |index: usize| corners[index] * self.op.scale - offset;
        Ok([
            self.along([at(1), at(3)], self.op.height, self.size[0])?,
            self.along([at(0), at(2)], self.op.width, self.size[1])?,
        ])
    }

    /// Returns the rows and columns of each bin as ranges of whole elements. The corners of the region and the borders
    /// of the bins are rounded to whole elements.
    fn elements(&self, corners: &[f32]) -> Vec<[std::ops::Range<usize>; 2]> {
        // Rounds half away from zero.
        let corner = |index: usize| (corners[index] * self.op.scale).round();
        let along = |start: f32, end: f32, bins: u32, extent: usize| -> Vec<std::ops::Range<usize>> {
            let bin = (end - start + 1.0).max(1.0) / bins as f32;
            // A conversion from float to usize saturates at 0.
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

    /// Returns the mean or the maximum of a bin's interpolated samples. Samples outside of the image are 0.
    fn interpolated(&self, image: &[f32], [rows, columns]: &[Along; 2], bin: usize) -> f32 {
        let (row, column) = (bin / self.op.width as usize, bin % self.op.width as usize);
        let width = self.size[1];
        let most = |most: f32, x: f32| if x > most { x } else { most };
        let count = rows.each * columns.each;
        let (mut sum, mut largest, mut inside) = (0.0, f32::NEG_INFINITY, 0);
        for down in rows.inside(row) {
            for across in columns.inside(column) {
                let product = |i: usize, j: usize| down[i].1 * across[j].1 * image[down[i].0 * width + across[j].0];
                let products = [product(0, 0), product(0, 1), product(1, 0), product(1, 1)];
                sum += products.iter().sum::<f32>();
                largest = products.into_iter().fold(largest, most);
                inside += 1;
            }
        }
        match self.op.mode {
            RoiMode::Average => sum / count.max(1) as f32,
            _ if inside == count && count > 0 => largest,
            _ => most(largest, 0.0),
        }
    }
}

impl Step for RoiAlign {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (x, regions, images) = (io.input::<f32>(0)?, io.input::<f32>(1)?, io.input::<i64>(2)?);
        let out = io.output::<f32>()?;
        let plane = self.size[0] * self.size[1];
        let bins = self.op.height as usize * self.op.width as usize;
        for_each_piece(out, self.channels * bins, &|first, out| {
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
                    let bins = out.iter_mut().enumerate();
                    bins.for_each(|(bin, out)| *out = self.interpolated(image, &samples, bin));
                }
            }
            Ok(())
        })
    }
}
