//! Images over three axes. LiteRT convolves them in float only; pools are pools over two axes, one after the other.

use super::super::Site;
use super::super::emitter::{Emitter, Index, Refused};
use super::super::flatbuffer::Table;
use super::window::{Padding, Window};
use strait_core::Elem;
use strait_core::layout::Order;
use strait_core::op::{Conv, MaxPool};

pub(super) fn conv(emitter: &mut Emitter<'_>, site: &Site<'_>, conv: &Conv) -> Result<(), Refused> {
    let mut image = emitter.image(site.node, 0)?;
    let weights = emitter.operand(site.node, 1)?;
    let shape = emitter
        .constant(weights)
        .ok_or("its weights are not constant")?
        .shape()
        .to_vec();
    if emitter.tensor(image).elem != Elem::F32 || conv.groups != 1 {
        return Err("LiteRT's CONV_3D computes on real numbers, and has no groups".into());
    }
    let &[outputs, _, ref kernel @ ..] = shape.as_slice() else {
        return Err("its weights have too few axes".into());
    };
    // [O, I, D, H, W] becomes [D, H, W, I, O].
    let weights = emitter.constant_as_image(weights, &Order::of(&[2, 3, 4, 1, 0]), &shape)?;
    let result = site.result.ok_or("it has no result")?;
    let made = emitter.define(result, emitter.layouts.of(emitter.graph, result))?;
    let bias = emitter.bias(site.node, outputs, image, weights)?;
    if conv.pad.iter().any(|&pad| pad > 0) {
        image = padded(emitter, image, &conv.pad, kernel, conv, made)?;
    }
    let number = |list: &[u32], at: usize| list.get(at).map_or(1, |&number| number as i32);
    let options = Table::default()
        .byte(0, Padding::Valid.number(), 0)
        .int(1, number(&conv.stride, 0), 0)
        .int(2, number(&conv.stride, 2), 0)
        .int(3, number(&conv.stride, 1), 0)
        .byte(4, site.activation, 0)
        .int(5, number(&conv.dilation, 0), 1)
        .int(6, number(&conv.dilation, 2), 1)
        .int(7, number(&conv.dilation, 1), 1);
    emitter.emit_with("CONV_3D", &[Some(image), Some(weights), bias], &[made], Some(options))
}

/// Pads an image with real zeros in front of a convolution. Padding at the end that no window reaches is left out.
fn padded(
    emitter: &mut Emitter<'_>,
    image: Index,
    pad: &[u32],
    kernel: &[u64],
    conv: &Conv,
    made: Index,
) -> Result<Index, Refused> {
    let (mut grown, result) = (emitter.tensor(image).shape.clone(), emitter.tensor(made).shape.clone());
    let mut amounts = vec![[0, 0]; grown.len()];
    for axis in 0..kernel.len() {
        let number = |list: &[u32], at: usize| list.get(at).copied().map_or(0, u64::from);
        let begin = number(pad, axis);
        let reach = kernel[axis].saturating_sub(1) * number(&conv.dilation, axis) + 1;
        let needed = result[axis + 1].saturating_sub(1) * number(&conv.stride, axis) + reach;
        let end = needed.saturating_sub(grown[axis + 1] + begin);
        grown[axis + 1] += begin + end;
        amounts[axis + 1] = [begin as i32, end as i32];
    }
    let list = emitter.matrix(&amounts)?;
    let made = emitter.like(image, "padded", grown)?;
    emitter.emit("PAD", &[image, list], &[made], None)?;
    Ok(made)
}

/// The maximum over three axes is the maximum over height and width, and of that the maximum over depth.
pub(super) fn max(emitter: &mut Emitter<'_>, site: &Site<'_>, pool: &MaxPool) -> Result<(), Refused> {
    if pool.dilation.iter().any(|&dilation| dilation != 1) {
        return Err("its windows are dilated, and MAX_POOL_2D has none that are".into());
    }
    let image = emitter.image(site.node, 0)?;
    let made = emitter.result(site.node)?;
    let [from, to] = [image, made].map(|index| emitter.tensor(index).shape.clone());
    let (&[n, depth, height, width, channels], &[_, less, low, narrow, _]) = (from.as_slice(), to.as_slice()) else {
        return Err("its image has other axes than three".into());
    };
    let list = |list: &[u32], at: [usize; 2]| at.map(|at| list.get(at).copied().unwrap_or(0));
    let flat = emitter.like(image, "flat", vec![n * depth, height, width, channels])?;
    emitter.reshape(image, flat)?;
    let sides = [1, 2].map(|at| [pool.pad.get(at), pool.pad.get(at + 3)].map(|pad| pad.copied().unwrap_or(0)));
    let flat = window(
        emitter,
        flat,
        list(&pool.size, [1, 2]),
        list(&pool.stride, [1, 2]),
        sides,
        [low, narrow],
    )?;
    let deep = emitter.like(image, "deep", vec![n, depth, low * narrow, channels])?;
    emitter.reshape(flat, deep)?;
    let sides = [
        [pool.pad.first(), pool.pad.get(3)].map(|pad| pad.copied().unwrap_or(0)),
        [0, 0],
    ];
    let [size, stride] = [&pool.size, &pool.stride].map(|list| [list.first().copied().unwrap_or(1), 1]);
    let deep = window(emitter, deep, size, stride, sides, [less, low * narrow])?;
    emitter.reshape(deep, made)
}

/// Appends a MAX_POOL_2D, with a PAD in front of it whose elements never win.
fn window(
    emitter: &mut Emitter<'_>,
    image: Index,
    size: [u32; 2],
    stride: [u32; 2],
    [top, left]: [[u32; 2]; 2],
    extents: [u64; 2],
) -> Result<Index, Refused> {
    let shape = emitter.tensor(image).shape.clone();
    let windows = Window {
        size: size.map(u64::from),
        stride: &stride,
        dilation: &[1, 1],
        pad: &[top[0], left[0], top[1], left[1]],
    };
    let padding = windows.padding([shape[1], shape[2]], extents)?;
    let image = match padding {
        Padding::Explicit(amounts) => {
            let least = match emitter.tensor(image).elem {
                Elem::F32 => f64::NEG_INFINITY,
                elem => elem.integers().map_or(0.0, |(least, _)| least as f64),
            };
            super::window::padded(emitter, image, amounts, Some(least))?
        }
        Padding::Same | Padding::Valid => image,
    };
    let made = emitter.like(image, "pooled", vec![shape[0], extents[0], extents[1], shape[3]])?;
    let options = Table::default()
        .byte(0, padding.number(), 0)
        .int(1, stride[1] as i32, 0)
        .int(2, stride[0] as i32, 0)
        .int(3, size[1] as i32, 0)
        .int(4, size[0] as i32, 0);
    emitter.emit("MAX_POOL_2D", &[image], &[made], Some(options))?;
    Ok(made)
}
