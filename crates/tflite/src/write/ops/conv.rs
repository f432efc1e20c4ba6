//! Convolutions: CONV_2D and DEPTHWISE_CONV_2D. A convolution over one axis is one over images of height 1.

use super::super::Site;
use super::super::emitter::{Emitter, Refused};
use super::super::flatbuffer::Table;
use super::window::{Padding, Window, both, padded, with_height};
use strait_core::layout::Order;
use strait_core::op::Conv;

pub(super) fn conv(emitter: &mut Emitter<'_>, site: &Site<'_>, conv: &Conv) -> Result<(), Refused> {
    let image = emitter.image(site.node, 0)?;
    let image = with_height(emitter, image)?;
    let weights = emitter.operand(site.node, 1)?;
    let of_weights = emitter
        .constant(weights)
        .ok_or("its weights are not constant")?
        .shape()
        .to_vec();
    let &[outputs, inputs, ref kernel @ ..] = of_weights.as_slice() else {
        return Err("its weights have too few axes".into());
    };
    let kernel = both(kernel, 1);
    let &[height, width] = kernel.as_slice() else {
        return Err("its kernel has more than two axes".into());
    };
    let channels = emitter.tensor(image).shape[3];
    let depthwise = conv.groups > 1 && u64::from(conv.groups) == channels;
    // [O, I, H, W] becomes [O, H, W, I], and with one input for each output [1, H, W, O].
    let order = Order::of(if depthwise { &[1, 2, 3, 0] } else { &[0, 2, 3, 1] });
    let weights = emitter.constant_as_image(weights, &order, &[outputs, inputs, height, width])?;
    let result = site.result.ok_or("it has no result")?;
    let made = emitter.define(result, emitter.layouts.of(emitter.graph, result))?;
    let target = emitter.tensor(made).shape.clone();
    let bias = emitter.bias(site.node, outputs, image, weights)?;

    let (stride, dilation) = (both(&conv.stride, 1), both(&conv.dilation, 1));
    let pad = match conv.pad.as_slice() {
        &[begin, end] => vec![0, begin, 0, end],
        other => other.to_vec(),
    };
    let window = Window {
        size: [height, width],
        stride: &stride,
        dilation: &dilation,
        pad: &pad,
    };
    let shape = emitter.tensor(image).shape.clone();
    let extents = match *target {
        [_, width, _] => [1, width],
        [_, height, width, _] => [height, width],
        _ => return Err("its result is no image".into()),
    };
    let padding = window.padding([shape[1], shape[2]], extents)?;
    let image = match padding {
        Padding::Explicit(amounts) => padded(emitter, image, amounts, None)?,
        Padding::Same | Padding::Valid => image,
    };
    let number = |list: &[u32], at: usize| list[at] as i32;
    let options = Table::default()
        .byte(0, padding.number(), 0)
        .int(1, number(&stride, 1), 0)
        .int(2, number(&stride, 0), 0);
    let (name, options) = match depthwise {
        true => {
            let multiplier = (outputs / channels) as i32;
            let options = options
                .int(3, multiplier, 0)
                .byte(4, site.activation, 0)
                .int(5, number(&dilation, 1), 1)
                .int(6, number(&dilation, 0), 1);
            ("DEPTHWISE_CONV_2D", options)
        }
        false => {
            let options =
                options
                    .byte(3, site.activation, 0)
                    .int(4, number(&dilation, 1), 1)
                    .int(5, number(&dilation, 0), 1);
            ("CONV_2D", options)
        }
    };
    let sum = match target.len() {
        3 => emitter.like(made, "image", vec![target[0], 1, target[1], target[2]])?,
        _ => made,
    };
    emitter.emit_with(name, &[Some(image), Some(weights), bias], &[sum], Some(options))?;
    match sum == made {
        true => Ok(()),
        false => emitter.reshape(sum, made),
    }
}
