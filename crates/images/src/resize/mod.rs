//! Resizes images with the arithmetic of a chosen library.

mod area;
mod opencv;
mod pillow;

use crate::like::{Filter, Like};

use crate::pixels::admit;
use crate::{ImageError, Pixels};

/// Resizes the image to `size` (width, height; neither is 0). Callers first check with [`Like::filters`] that the
/// library has the filter. If it does not, the nearest pixel is used.
pub(crate) fn resize(image: Pixels, size: [usize; 2], filter: Filter, like: Like) -> Result<Pixels, ImageError> {
    let [width, height] = size;
    admit(width as u64, height as u64)?;
    // Between the two passes, one side of the image already has its new length and the other side does not.
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

/// Makes an image whose pixel at (x, y) is the pixel of the source at (`xs[x]`, `ys[y]`).
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
