//! Resizes of images.

use super::super::Site;
use super::super::emitter::{Emitter, Refused};
use super::super::flatbuffer::Table;
use super::window::with_height;
use strait_core::op::{Coordinate, Nearest, Resize, ResizeMode};

pub(super) fn resize(emitter: &mut Emitter<'_>, site: &Site<'_>, resize: &Resize) -> Result<(), Refused> {
    let image = emitter.image(site.node, 0)?;
    let made = emitter.result(site.node)?;
    let (mut from, mut to) = (emitter.tensor(image).shape.clone(), emitter.tensor(made).shape.clone());
    // An image over one axis is an image of height 1.
    let is_line = from.len() == 3 && to.len() == 3;
    if is_line {
        from.insert(1, 1);
        to.insert(1, 1);
    }
    let (&[n, ..], &[m, height, width, _]) = (from.as_slice(), to.as_slice()) else {
        return Err("it resizes images over other axes than two".into());
    };
    if n != m || from.last() != to.last() {
        return Err("it resizes another axis than height and width".into());
    }
    let (corners, centers) = match (resize.mode, resize.coordinate, resize.nearest) {
        (ResizeMode::Linear, Coordinate::AlignCorners, _) => (1, 0),
        (ResizeMode::Linear, Coordinate::HalfPixel, _) => (0, 1),
        (ResizeMode::Linear, Coordinate::Asymmetric, _) => (0, 0),
        (ResizeMode::Nearest, Coordinate::AlignCorners, Nearest::RoundPreferCeil) => (1, 0),
        (ResizeMode::Nearest, Coordinate::HalfPixel, Nearest::RoundPreferCeil) => (0, 1),
        (ResizeMode::Nearest, Coordinate::Asymmetric, Nearest::Floor) => (0, 0),
        // If an image grows by whole factors, all roundings pick the same elements.
        (ResizeMode::Nearest, Coordinate::HalfPixel, _)
            if height.is_multiple_of(from[1]) && width.is_multiple_of(from[2]) =>
        {
            (0, 1)
        }
        (ResizeMode::Cubic, ..) => return Err("it interpolates cubically; TFLite only has linear interpolation".into()),
        _ => return Err("TFLite does not map coordinates as it does".into()),
    };
    let size = emitter.ints(&[height as i32, width as i32])?;
    let (name, first) = match resize.mode {
        ResizeMode::Linear => ("RESIZE_BILINEAR", 2),
        _ => ("RESIZE_NEAREST_NEIGHBOR", 0),
    };
    let options = Table::default().byte(first, corners, 0).byte(first + 1, centers, 0);
    let options = Some(options);
    if !is_line {
        return emitter.emit(name, &[image, size], &[made], options);
    }
    let image = with_height(emitter, image)?;
    let resized = emitter.like(made, "image", to)?;
    emitter.emit(name, &[image, size], &[resized], options)?;
    emitter.reshape(resized, made)
}
