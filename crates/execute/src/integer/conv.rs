//! Convolution with packed weights, its accumulators requantized where they are.

use super::{Constant, ConstantBias, Prepared, carrier, codes};
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::window;
use strait_core::op;
use strait_kernels::integer::{ConvWeights, Loops};

struct Conv {
    weights: ConvWeights,
    batch: usize,
    loops: Box<dyn Loops>,
}

pub(crate) fn prepare(op: &op::Conv, site: &NodeSlots<'_>) -> Prepared {
    let (x, weight) = (site.input(0)?, site.input(1)?);
    let bias = ConstantBias::of(site.optional(2), carrier(op.accumulator));
    let (Some(element), Some(weights), Some(bias)) = (codes(x), Constant::of(weight, &op.weight_zero, 0), bias) else {
        return Ok(None);
    };
    let Ok(conv) = window::conv(op, site) else {
        return Ok(None);
    };
    Ok(Some(Box::new(Conv {
        batch: conv.input.batch,
        weights: ConvWeights::new(conv, element, op.pad_value, weights.weights(), bias.bias())?,
        loops: site.loops()?,
    })))
}

impl Step for Conv {
    fn reads(&self, operand: usize) -> bool {
        operand == 0
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input(0)?;
        Ok(self
            .loops
            .conv(io.context, &self.weights, self.batch, x, io.output()?)?)
    }
}
