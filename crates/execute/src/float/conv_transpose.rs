//! Transposed convolution. For each image and group, the transposed weights are multiplied by the image, as a product
//! of two matrices. For each position of the image, the product has a kernel: the weights, multiplied by the elements
//! at this position. The kernels overlap in the result and are added up there.

use crate::prelude::*;
use strait_kernels::float::{Bias, Blocks, Matrix, col2im, gemm};

struct ConvTranspose {
    blocks: Blocks,
    groups: usize,
    /// The number of channels per group, of the operand and of the result.
    channels: [usize; 2],
    /// The number of elements in a channel, of the operand and of the result.
    plane: [usize; 2],
    /// The number of kernel elements for one channel of the result.
    taps: usize,
}

impl Executable for op::ConvTranspose {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, weight, y) = (&site.input(0)?.dims, &site.input(1)?.dims, &site.output()?.dims);
        let ([_, channels, positions @ ..], [_, outputs, kernel @ ..], [_, _, image @ ..]) =
            (&x[..], &weight[..], &y[..])
        else {
            return Err(StepError::Model("a transposed convolution without spatial axes".into()));
        };
        let begins = &self.pad[..self.pad.len() / 2];
        let groups = self.groups as usize;
        Ok(Box::new(ConvTranspose {
            blocks: Blocks {
                image: behind(image, 1)?,
                positions: behind(positions, 1)?,
                kernel: behind(kernel, 1)?,
                stride: behind(&wide(&self.stride), 1)?,
                dilation: behind(&wide(&self.dilation), 1)?,
                begin: behind(&wide(begins), 0)?,
            },
            groups,
            channels: [channels / groups.max(1), *outputs],
            plane: [positions.iter().product(), image.iter().product()],
            taps: kernel.iter().product(),
        }))
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        // Each element of the operand is multiplied by all weights of its channel.
        let outputs = types.operand(1).map_or(1, |weight| extent(weight, 0));
        times(types.elements(0), types.elements(1) / outputs.max(1)).max(types.made())
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, types: &Types<'_>) -> Scratch {
        let bytes = |weight| columns_bytes(product_from(weight, 1), product_from(x, 2), weight);
        Scratch::run(types.operand(1).map_or(0, bytes))
    }
}

/// Returns the bytes of a matrix with `rows` rows and a column for each position, plus a transposed copy of the
/// weights.
pub(super) fn columns_bytes(rows: u64, positions: u64, weight: &TensorType) -> u64 {
    times(rows.saturating_mul(positions).saturating_add(count(weight)), FLOAT)
}

/// Extends a list of one to three numbers to three numbers, by putting `missing` in front. The numbers belong to the
/// last axes.
pub(crate) fn behind(numbers: &[usize], missing: usize) -> Result<[usize; 3], StepError> {
    match *numbers {
        [x] => Ok([missing, missing, x]),
        [y, x] => Ok([missing, y, x]),
        [z, y, x] => Ok([z, y, x]),
        _ => Err(StepError::Unsupported(format!(
            "windows over {} spatial axes",
            numbers.len()
        ))),
    }
}

/// Converts a list of numbers from u32 to usize.
pub(crate) fn wide(numbers: &[u32]) -> Vec<usize> {
    numbers.iter().map(|&number| number as usize).collect()
}

impl Step for ConvTranspose {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (x, weight) = (io.input::<f32>(0)?, io.input::<f32>(1)?);
        let bias = io.optional::<f32>(2)?;
        let context = io.context;
        let out = io.output::<f32>()?;
        let [inputs, outputs] = self.channels;
        let rows = outputs * self.taps;
        let (image, result) = (inputs * self.plane[0], outputs * self.plane[1]);
        if image == 0 {
            // If the operand has no elements, each element of the result is the bias of its channel.
            for (channel, plane) in out.chunks_exact_mut(self.plane[1]).enumerate() {
                plane.fill(bias.map_or(0.0, |bias| bias[channel % bias.len().max(1)]));
            }
            return Ok(());
        }
        let mut columns = vec![0.0; rows * self.plane[0]];
        for (index, (x, out)) in x.chunks_exact(image).zip(out.chunks_exact_mut(result)).enumerate() {
            let group = index % self.groups;
            let weight = Matrix::transposed(&weight[group * inputs * rows..(group + 1) * inputs * rows], rows);
            let extents = [rows, self.plane[0], inputs];
            gemm(
                context,
                extents,
                weight,
                Matrix::row_major(x, self.plane[0]),
                Bias::Zero,
                &mut columns,
            )?;
            let bias = bias.map(|bias| &bias[group * outputs..(group + 1) * outputs]);
            col2im(&self.blocks, &columns, bias, out)?;
        }
        Ok(())
    }
}
