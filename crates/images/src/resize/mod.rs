//! Another size, with the arithmetic of a library.

mod area;
mod opencv;
mod pillow;

use serde::{Deserialize, Serialize};

use crate::{ImageError, Pixels, decode::admit};

/// The library whose arithmetic a step has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Like {
    /// Pillow, and so torchvision on its images. Filters widen where an image becomes smaller.
    #[default]
    Pillow,
    /// OpenCV. Filters but `area` look at as many neighbours whatever the factor.
    Opencv,
}

impl Like {
    /// Name and version of what the arithmetic is held against. It is part of what statistics depend on: arithmetic that
    /// changes becomes another version here.
    pub fn version(self) -> &'static str {
        match self {
            Like::Pillow => "Pillow 13",
            Like::Opencv => "OpenCV 5",
        }
    }

    /// The filters that are there.
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

/// Weights of the pixels around a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// The pixel that the place is in.
    Nearest,
    /// Pillow's `BOX`.
    Box,
    /// Pillow's `BILINEAR`, OpenCV's `INTER_LINEAR`.
    #[default]
    Bilinear,
    /// Pillow's `HAMMING`.
    Hamming,
    /// Pillow's `BICUBIC`, OpenCV's `INTER_CUBIC`.
    Bicubic,
    /// Pillow's `LANCZOS`.
    Lanczos,
    /// OpenCV's `INTER_AREA`.
    Area,
}

/// The image in another size (width, height; none is 0). A filter that the library lacks is the nearest pixel; whoever makes
/// a step has looked at [`Like::filters`].
pub(crate) fn resize(image: Pixels, size: [usize; 2], filter: Filter, like: Like) -> Result<Pixels, ImageError> {
    let [width, height] = size;
    admit(width as u64, height as u64)?;
    // Between the two passes an image has the width of the one and the height of the other.
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

/// Picks the pixel at `xs[x]`, `ys[y]` for each of the result.
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
