//! Batch normalization at inference.

use crate::elementwise::for_each_piece;
use crate::layout::around;
use crate::prelude::*;
use crate::step::Operand;

struct BatchNormalization {
    epsilon: f32,
    /// Number of images, of channels, and of elements in a channel.
    extents: [usize; 3],
}

impl Executable for op::BatchNormalization {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        Ok(Box::new(BatchNormalization {
            epsilon: self.epsilon,
            extents: around(&site.input(0)?.dims, 1),
        }))
    }
}

impl Step for BatchNormalization {
    fn in_place(&self) -> &[usize] {
        &[0]
    }

    /// Computes x·f + (bias − mean·f) for each channel, with f = scale / √(variance + epsilon).
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let [_, channels, plane] = self.extents;
        let input = io.operand::<f32>(0)?;
        let (scale, bias) = (io.input::<f32>(1)?, io.input::<f32>(2)?);
        let (mean, variance) = (io.input::<f32>(3)?, io.input::<f32>(4)?);
        let line = |c: usize| {
            let factor = scale[c] / (variance[c] + self.epsilon).sqrt();
            [factor, bias[c] - mean[c] * factor]
        };
        let lines: Vec<[f32; 2]> = (0..channels).map(line).collect();
        for_each_piece(io.output::<f32>()?, plane, &|first, out| {
            let [factor, offset] = lines[first / plane % channels];
            match input {
                Operand::InPlace => out.iter_mut().for_each(|x| *x = *x * factor + offset),
                Operand::Slice(input) => {
                    let input = &input[first..first + out.len()];
                    out.iter_mut().zip(input).for_each(|(y, &x)| *y = x * factor + offset);
                }
            }
            Ok(())
        })
    }
}
