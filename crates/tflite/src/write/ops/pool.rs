//! Pools: MAX_POOL_2D and AVERAGE_POOL_2D.

use super::super::Site;
use super::super::emitter::{Emitter, Index, Refused};
use super::super::flatbuffer::Table;
use super::window::{Padding, Window, both, padded, with_height};
use strait_core::Elem;
use strait_core::op::{AveragePool, MaxPool};

pub(super) fn max(emitter: &mut Emitter<'_>, site: &Site<'_>, pool: &MaxPool) -> Result<(), Refused> {
    if pool.dilation.iter().any(|&dilation| dilation != 1) {
        return Err("its windows are dilated, and MAX_POOL_2D has none that are".into());
    }
    let layout = [pool.size.as_slice(), &pool.stride, &pool.pad];
    pooled(emitter, site, "MAX_POOL_2D", layout, |emitter, image, amounts| {
        // Padding must never win.
        let elem = emitter.tensor(image).elem;
        let least = match elem {
            Elem::F32 => f64::NEG_INFINITY,
            elem => elem.integers().map_or(0.0, |(least, _)| least as f64),
        };
        padded(emitter, image, amounts, Some(least))
    })
}

pub(super) fn average(emitter: &mut Emitter<'_>, site: &Site<'_>, pool: &AveragePool) -> Result<(), Refused> {
    if pool.dilation.iter().any(|&dilation| dilation != 1) {
        return Err("its windows are dilated, and AVERAGE_POOL_2D has none that are".into());
    }
    let counts = pool.count_include_pad && pool.pad.iter().any(|&pad| pad > 0);
    let mut layout = [pool.size.as_slice(), &pool.stride, &pool.pad];
    let around = both(&pool.pad, 0);
    let none = vec![0; around.len()];
    if !counts {
        return pooled(emitter, site, "AVERAGE_POOL_2D", layout, |_, _, _| {
            Err("its padding does not count, and is not the padding SAME of AVERAGE_POOL_2D".into())
        });
    }
    // Padding that counts is real zero around the image.
    let image = emitter.image(site.node, 0)?;
    let image = with_height(emitter, image)?;
    let &[top, left, bottom, right] = around.as_slice() else {
        return Err("it has images over one axis, and padding that counts".into());
    };
    let image = padded(
        emitter,
        image,
        [[top.into(), bottom.into()], [left.into(), right.into()]],
        None,
    )?;
    layout[2] = &none;
    window(emitter, site, "AVERAGE_POOL_2D", image, layout, |_, _, _| {
        Err("its windows reach beyond the padding".into())
    })
}

fn pooled(
    emitter: &mut Emitter<'_>,
    site: &Site<'_>,
    name: &'static str,
    layout: [&[u32]; 3],
    pad: impl FnOnce(&mut Emitter<'_>, Index, [[u64; 2]; 2]) -> Result<Index, Refused>,
) -> Result<(), Refused> {
    let image = emitter.image(site.node, 0)?;
    let image = with_height(emitter, image)?;
    window(emitter, site, name, image, layout, pad)
}

/// Appends a pool over an image [N, H, W, C]. `layout` has the size, stride and padding of the pool's windows.
fn window(
    emitter: &mut Emitter<'_>,
    site: &Site<'_>,
    name: &'static str,
    image: Index,
    [size, stride, pad]: [&[u32]; 3],
    around: impl FnOnce(&mut Emitter<'_>, Index, [[u64; 2]; 2]) -> Result<Index, Refused>,
) -> Result<(), Refused> {
    let (size, stride) = (both(size, 1), both(stride, 1));
    let pad = match pad {
        &[begin, end] => vec![0, begin, 0, end],
        other => other.to_vec(),
    };
    let &[height, width] = size.as_slice() else {
        return Err("its windows have more than two axes".into());
    };
    let made = emitter.result(site.node)?;
    let target = emitter.tensor(made).shape.clone();
    let (sum, extents) = match *target {
        [n, width, channels] => (emitter.like(made, "image", vec![n, 1, width, channels])?, [1, width]),
        [_, height, width, _] => (made, [height, width]),
        _ => return Err("its result is no image".into()),
    };
    let shape = emitter.tensor(image).shape.clone();
    let windows = Window {
        size: [height.into(), width.into()],
        stride: &stride,
        dilation: &[1, 1],
        pad: &pad,
    };
    let padding = windows.padding([shape[1], shape[2]], extents)?;
    let image = match padding {
        Padding::Explicit(amounts) => around(emitter, image, amounts)?,
        Padding::Same | Padding::Valid => image,
    };
    let options = Table::default()
        .byte(0, padding.number(), 0)
        .int(1, stride[1] as i32, 0)
        .int(2, stride[0] as i32, 0)
        .int(3, width as i32, 0)
        .int(4, height as i32, 0);
    emitter.emit(name, &[image], &[sum], Some(options))?;
    match sum == made {
        true => Ok(()),
        false => emitter.reshape(sum, made),
    }
}
