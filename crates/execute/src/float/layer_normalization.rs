//! Layer normalization, with or without subtracting the mean.

use crate::elementwise::{Broadcast, for_each_piece};
use crate::layout::axis;
use crate::prelude::*;
use crate::step::Operand;
use strait_kernels::float::{Reduction, reduce};

struct LayerNormalization {
    /// True if the mean is subtracted.
    centred: bool,
    epsilon: f32,
    /// Number of elements that are normalized together.
    row: usize,
    scale: Broadcast,
    bias: Option<Broadcast>,
}

impl Executable for op::LayerNormalization {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        step(true, (self.axis, self.epsilon), site)
    }
}

/// Normalization by the root mean square.
impl Executable for op::RmsNormalization {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        step(false, (self.axis, self.epsilon), site)
    }
}

fn step(centred: bool, (first, epsilon): (i64, f32), site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let dims = &site.input(0)?.dims;
    let bias = site.optional(2).map(|bias| Broadcast::new(dims, &bias.dims));
    Ok(Box::new(LayerNormalization {
        centred,
        epsilon,
        row: dims[axis(first, dims.len())?..].iter().product(),
        scale: Broadcast::new(dims, &site.input(1)?.dims)?,
        bias: bias.transpose()?,
    }))
}

impl Step for LayerNormalization {
    /// Computes d / √(v + epsilon) · scale + bias for each row. Here d = x − m, m is the mean of the row (or 0 if no
    /// mean is subtracted), and v is the mean of d².
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let row = self.row;
        let input = io.input::<f32>(0)?;
        let (scale, bias) = (io.input::<f32>(1)?, io.optional::<f32>(2)?);
        let context = io.context;
        let out = io.output::<f32>()?;
        if out.is_empty() {
            return Ok(());
        }
        let mean = |values: &[f32]| -> Result<f32, StepError> {
            let mut mean = [0.0];
            reduce(context, Reduction::Mean, [1, row, 1], values, &mut mean)?;
            Ok(mean[0])
        };
        for_each_piece(out, row, &|first, out| {
            let input = &input[first..first + row];
            let m = if self.centred { mean(input)? } else { 0.0 };
            out.iter_mut().zip(input).for_each(|(d, &x)| *d = (x - m) * (x - m));
            let deviation = (mean(out)? + self.epsilon).sqrt();
            out.iter_mut().zip(input).for_each(|(y, &x)| *y = (x - m) / deviation);
            Ok(())
        })?;
        self.scale
            .apply(Operand::InPlace, Operand::Slice(scale), out, |x, scale| x * scale)?;
        match (&self.bias, bias) {
            (Some(broadcast), Some(bias)) => {
                broadcast.apply(Operand::InPlace, Operand::Slice(bias), out, |x, bias| x + bias)
            }
            _ => Ok(()),
        }
    }
}
