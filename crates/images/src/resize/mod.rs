//! Resizing, with the arithmetic of a chosen library.

mod area;
mod opencv;
mod pillow;

use serde::{Deserialize, Serialize};

use crate::{ImageError, Pixels, decode::admit};

/// The library whose arithmetic a step uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Like {
    /// Pillow, and torchvision on Pillow images. Filters become wider when an image shrinks.
    #[default]
    Pillow,
    /// OpenCV. Except for `area`, a filter uses the same number of neighbours for any factor.
    Opencv,
}

impl Like {
    /// Name and version of the library that the arithmetic is tested against. Statistics depend on it, so a change of
    /// the arithmetic needs a new version here.
    pub fn version(self) -> &'static str {
        match self {
            Like::Pillow => "Pillow 13",
            Like::Opencv => "OpenCV 5",
        }
    }

    /// The filters that the library has.
    pub fn filters(self) -> &'static [Filter] {
        match self {
            Like::Pillow => &[
                Filter::Nearest,
                Filter::Box,
                Filter::Bilinear,
                Filter::Hamming,
                Filter::Bicubic,
                Filter::Lanczos,
            ],
            Like::Opencv => &[Filter::Nearest, Filter::Bilinear, Filter::Bicubic, Filter::Area],
        }
    }
}

/// How the pixels around a position are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// The pixel that contains the position.
    Nearest,
    /// The filter that Pillow calls `BOX`.
    Box,
    /// The filter that Pillow calls `BILINEAR`, and OpenCV `INTER_LINEAR`.
    #[default]
    Bilinear,
    /// The filter that Pillow calls `HAMMING`.
    Hamming,
    /// The filter that Pillow calls `BICUBIC`, and OpenCV `INTER_CUBIC`.
    Bicubic,
    /// The filter that Pillow calls `LANCZOS`.
    Lanczos,
    /// The filter that OpenCV calls `INTER_AREA`.
    Area,
}

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
