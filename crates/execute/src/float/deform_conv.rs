//! Deformable convolution: an operand gives an offset for each tap. The elements at the moved taps are gathered into a
//! matrix, which is multiplied by the weights.

use super::conv_transpose::columns_bytes;
use crate::elementwise::for_each_piece;
use crate::prelude::*;
use strait_kernels::float::{Bias, Matrix, gemm};

struct DeformConv {
    op: op::DeformConv,
    batch: usize,
    /// The number of channels of the operand, and of the result.
    channels: [usize; 2],
    /// Height and width of the operand. The next two fields are the height and width of the kernel and of the result.
    size: [usize; 2],
    kernel: [usize; 2],
    made: [usize; 2],
}

impl Executable for op::DeformConv {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, weight, y) = (&site.input(0)?.dims, &site.input(1)?.dims, &site.output()?.dims);
        match (&x[..], &weight[..], &y[..]) {
            (&[batch, channels, height, width], &[outputs, _, rows, columns], &[_, _, down, across]) => {
                Ok(Box::new(DeformConv {
                    op: self.clone(),
                    batch,
                    channels: [channels, outputs],
                    size: [height, width],
                    kernel: [rows, columns],
                    made: [down, across],
                }))
            }
            _ => Err(StepError::Model("a moved convolution over other axes than two".into())),
        }
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        types.weighted()
    }

    fn scratch(&self, x: &TensorType, y: &TensorType, types: &Types<'_>) -> Scratch {
        let rows = |weight| extent(x, 1).saturating_mul(product_from(weight, 2));
        let bytes = |weight| columns_bytes(rows(weight), product_from(y, 2), weight);
        Scratch::run(types.operand(1).map_or(0, bytes))
    }
}

impl DeformConv {
    /// Returns the value at row `y` and column `x` of a channel, interpolated linearly between elements. Outside of the
    /// image, elements count as 0.
    fn element(&self, image: &[f32], y: f32, x: f32) -> f32 {
        let [height, width] = self.size;
        let (top, left) = (y.floor(), x.floor());
        let at = |y: f32, x: f32| {
            let inside = (0.0..height as f32).contains(&y) && (0.0..width as f32).contains(&x);
            if inside {
                image[y as usize * width + x as usize]
            } else {
                0.0
            }
        };
        let (down, across) = (y - top, x - left);
        let upper = at(top, left) * (1.0 - across) + at(top, left + 1.0) * across;
        let lower = at(top + 1.0, left) * (1.0 - across) + at(top + 1.0, left + 1.0) * across;
        upper * (1.0 - down) + lower * down
    }

    /// Computes one row of the matrix: the elements that one tap reads from one channel of an image, for all positions
    /// in the result.
    fn row(&self, image: &[f32], offset: &[f32], mask: Option<&[f32]>, row: usize, out: &mut [f32]) {
        let taps = self.kernel[0] * self.kernel[1];
        let (channel, tap) = (row / taps, row % taps);
        let plane = self.size[0] * self.size[1];
        let image = &image[channel * plane..(channel + 1) * plane];
        let group = channel / (self.channels[0] / self.op.offset_groups as usize).max(1);
        let count = out.len();
        let rows = &offset[(group * taps + tap) * 2 * count..];
        let columns = &rows[count..];
        let start = [0, 1].map(|axis| {
            let tap = if axis == 0 {
                tap / self.kernel[1]
            } else {
                tap % self.kernel[1]
            };
            (tap * self.op.dilation[axis] as usize) as f32 - self.op.pad[axis] as f32
        });
        for (index, out) in out.iter_mut().enumerate() {
            let (y, x) = (index / self.made[1], index % self.made[1]);
            let y = start[0] + (y * self.op.stride[0] as usize) as f32 + rows[index];
            let x = start[1] + (x * self.op.stride[1] as usize) as f32 + columns[index];
            let weight = mask.map_or(1.0, |mask| mask[(group * taps + tap) * count + index]);
            *out = weight * self.element(image, y, x);
        }
    }
}

impl Step for DeformConv {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (x, weight, offset) = (io.input::<f32>(0)?, io.input::<f32>(1)?, io.input::<f32>(2)?);
        let (bias, mask) = (io.optional::<f32>(3)?, io.optional::<f32>(4)?);
        let context = io.context;
        let out = io.output::<f32>()?;
        let [channels, outputs] = self.channels;
        let groups = self.op.groups as usize;
        let taps = self.kernel[0] * self.kernel[1];
        let positions = self.made[0] * self.made[1];
        let (inputs, results) = (channels / groups, outputs / groups);
        let depth = inputs * taps;
        let each = self.op.offset_groups as usize * taps * positions;
        let mut matrix = vec![0.0; channels * taps * positions];
        for image in 0..self.batch {
            let plane = channels * self.size[0] * self.size[1];
            let x = &x[image * plane..(image + 1) * plane];
            let offset = &offset[image * 2 * each..(image + 1) * 2 * each];
            let mask = mask.map(|mask| &mask[image * each..(image + 1) * each]);
            for_each_piece(&mut matrix, positions, &|first, row| {
                self.row(x, offset, mask, first / positions.max(1), row);
                Ok(())
            })?;
            for group in 0..groups {
                let from = group * depth * positions;
                let to = (image * outputs + group * results) * positions;
                gemm(
                    context,
                    [results, positions, depth],
                    Matrix::row_major(&weight[group * results * depth..(group + 1) * results * depth], depth),
                    Matrix::row_major(&matrix[from..from + depth * positions], positions),
                    bias.map_or(Bias::Zero, |bias| {
                        Bias::Rows(&bias[group * results..(group + 1) * results])
                    }),
                    &mut out[to..to + results * positions],
                )?;
            }
        }
        Ok(())
    }
}
