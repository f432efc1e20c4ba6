//! Convolution with packed weights. Accumulators are requantized as soon as they are computed.

use super::operands::{Constant, ConstantBias, Prepared, carrier, codes};
use crate::float::volume;
use crate::layers::Layers;
use crate::prelude::*;
use crate::window;
use strait_kernels::integer::{ConvWeights, Loops};

/// A convolution over one or two axes, or the convolution that computes one layer of a convolution over three axes.
struct Conv {
    weights: ConvWeights,
    batch: usize,
    loops: Box<dyn Loops>,
    layers: Option<InLayers>,
}

/// A convolution over three axes, computed layer by layer.
struct InLayers {
    layers: Layers,
    /// The bytes of the code that fills the padding.
    pad: Vec<u8>,
}

pub(crate) fn prepare(op: &op::Conv, site: &NodeSlots<'_>) -> Prepared {
    let (x, weight) = (site.input(0)?, site.input(1)?);
    let bias = ConstantBias::of(site.optional(2), carrier(op.accumulator));
    let (Some(element), Some(weights), Some(bias)) = (codes(x), Constant::of(weight, &op.weight_zero, 0), bias) else {
        return Ok(None);
    };
    let layers = match volume::applies(site) {
        true => Some(InLayers {
            layers: Layers::new(op, site)?,
            // A code has one or two bytes, in the machine's byte order.
            pad: match element.bits() {
                ..=8 => (op.pad_value as i8).to_ne_bytes().to_vec(),
                _ => (op.pad_value as i16).to_ne_bytes().to_vec(),
            },
        }),
        false => None,
    };
    let conv = match &layers {
        Some(three) => Ok(three.layers.layer),
        None => window::conv(op, site),
    };
    let Ok(conv) = conv else {
        return Ok(None);
    };
    Ok(Some(Box::new(Conv {
        batch: conv.input.batch,
        weights: ConvWeights::new(conv, element, op.pad_value, weights.weights(), bias.bias())?,
        loops: site.loops()?,
        layers,
    })))
}

impl Step for Conv {
    fn reads(&self, operand: usize) -> bool {
        operand == 0
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input(0)?;
        let context = io.context;
        if let Some(InLayers { layers, pad }) = &self.layers {
            return layers.each(pad, x, io.output()?, |read, result| {
                Ok(self.loops.conv(context, &self.weights, self.batch, read, result)?)
            });
        }
        Ok(self.loops.conv(context, &self.weights, self.batch, x, io.output()?)?)
    }
}
