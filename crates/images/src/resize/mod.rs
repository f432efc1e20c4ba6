//! Resizing, with the arithmetic of a chosen library.

mod area;
mod opencv;
mod pillow;

use crate::like::{Filter, Like};

use crate::pixels::admit;
use crate::{ImageError, Pixels};

/// Resizes the image to `size` (width, height; neither is 0). If the library lacks the filter, the nearest pixel is
/// taken; callers check with [`Like::filters`] first.
pub(crate) fn resize(image: Pixels, size: [usize; 2], filter: Filter, like: Like) -> Result<Pixels, ImageError> {
    let [width, height] = size;
    admit(width as u64, height as u64)?;
    // Between the two passes, the image has the width of one size and the height of the other.
    admit(width as u64, image.height as u64)?;
    admit(image.width as u64, height as u64)?;
    if size == [image.width, image.height] {
        return Ok(image);
    }
    Ok(match like {
        Like::Pillow => pillow::resize(&image, size, filter),
        Like::Opencv => opencv::resize(&image, size, filter),
    })
}

/// Picks the pixel at `xs[x]`, `ys[y]` for each pixel of the result.
fn pick(image: &Pixels, xs: &[usize], ys: &[usize]) -> Pixels {
    let (row, channels) = (image.row(), image.channels);
    let mut levels = Vec::with_capacity(xs.len() * ys.len() * channels);
    for y in ys {
        let from = &image.levels[y * row..(y + 1) * row];
        for x in xs {
            levels.extend_from_slice(&from[x * channels..(x + 1) * channels]);
        }
    }
    Pixels {
        width: xs.len(),
        height: ys.len(),
        channels,
        levels,
    }
}
