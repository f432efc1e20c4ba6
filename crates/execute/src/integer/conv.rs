//! Convolution with packed weights. Accumulators are requantized as soon as they are computed.

use super::operands::{Constant, ConstantBias, Prepared, carrier, codes};
use crate::float::volume;
use crate::layers::Layers;
use crate::prelude::*;
use crate::step::on_channels_last;
use crate::window;
use strait_kernels::integer::{ChannelsLast, ConvWeights};

pub(crate) fn prepare(op: &op::Conv, site: &NodeSlots<'_>) -> Prepared {
    let (x, weight) = (site.input(0)?, site.input(1)?);
    let bias = ConstantBias::of(site.optional(2), carrier(op.accumulator));
    let (Some(element), Some(weights), Some(bias)) = (codes(x), Constant::of(weight, &op.weight_zero, 0), bias) else {
        return Ok(None);
    };
    // For three spatial axes: the convolution of each layer, and the bytes of a padding element.
    let layers = match volume::applies(site) {
        true => {
            let layers = Layers::new(op, site)?;
            // A code has one or two bytes, in the machine's byte order.
            let pad = match element.bits() {
                ..=8 => (op.pad_value as i8).to_ne_bytes().to_vec(),
                _ => (op.pad_value as i16).to_ne_bytes().to_vec(),
            };
            Some((layers, pad))
        }
        false => None,
    };
    let conv = match &layers {
        Some((layers, _)) => layers.layer,
        None => match window::conv(op, site) {
            Ok(conv) => conv,
            Err(_) => return Ok(None),
        },
    };
    if site.last && layers.is_none() {
        let packed = ChannelsLast::new(conv, element, op.pad_value, weights.weights(), bias.bias())?;
        if let Some(packed) = packed {
            let (batch, loops) = (conv.input.batch, site.loops()?);
            return Ok(Some(on_channels_last(packed.stride(), move |io| {
                let (context, x) = (io.context, io.input(0)?);
                Ok(loops.conv_last(context, &packed, batch, x, io.output()?)?)
            })));
        }
    }
    let weights = ConvWeights::new(conv, element, op.pad_value, weights.weights(), bias.bias())?;
    let (batch, loops) = (conv.input.batch, site.loops()?);
    Ok(Some(reading(1, move |io| {
        let (context, x) = (io.context, io.input(0)?);
        let convolve = |x: &[u8], out: &mut [u8]| Ok(loops.conv(context, &weights, batch, x, out)?);
        match &layers {
            Some((layers, pad)) => layers.each(pad, x, io.output()?, convolve),
            None => convolve(x, io.output()?),
        }
    })))
}
