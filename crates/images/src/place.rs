//! Crops images, and places an image in a larger field.

use serde::{Deserialize, Serialize};

use crate::{ImageError, Pixels};

/// The position of a smaller area in a larger one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "At"))]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// The part is in the middle.
    #[default]
    Center,
    /// The part is in the top left corner.
    TopLeft,
}

/// How the length of a side is rounded to whole pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Round"))]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// Rounds down.
    #[default]
    Down,
    /// Rounds to the nearest number, ties to even.
    Nearest,
}

impl Rounding {
    /// Rounds the length of a side. The result is at least one pixel.
    pub(crate) fn side(self, side: f64) -> usize {
        let rounded = match self {
            Rounding::Nearest => side.round_ties_even(),
            Rounding::Down => side.floor(),
        };
        rounded.max(1.0) as usize
    }
}

/// Cuts out a part of `size` (width, height), in the middle or in the top left corner. For a part in the middle, half
/// of the surplus pixels of each direction are cut off before the part. If this half is not a whole number, it is
/// rounded to even, as in torchvision's `center_crop`.
pub(crate) fn crop(image: &Pixels, [width, height]: [usize; 2], anchor: Anchor) -> Result<Pixels, ImageError> {
    if width > image.width || height > image.height {
        return Err(ImageError::Crop {
            size: [width, height],
            found: [image.width, image.height],
        });
    }
    let begin = |spare: usize| match anchor {
        Anchor::Center => (spare as f64 / 2.0).round_ties_even() as usize,
        Anchor::TopLeft => 0,
    };
    let (left, top) = (begin(image.width - width), begin(image.height - height));
    let rows = image.levels.chunks_exact(image.row()).skip(top).take(height);
    let [from, to] = [left, left + width].map(|x| x * image.channels);
    Ok(Pixels {
        width,
        height,
        channels: image.channels,
        levels: rows.flat_map(|row| &row[from..to]).copied().collect(),
    })
}

/// Places the image on a field of `size` (width, height), which is at least as large as the image, and fills the rest
/// with `fill`. If the image is in the middle and the number of remaining pixels is odd, the extra pixel is on the
/// right or at the bottom.
pub(crate) fn on_field(image: &Pixels, [width, height]: [usize; 2], fill: u8, anchor: Anchor) -> Pixels {
    let begin = |spare: usize| match anchor {
        Anchor::Center => spare / 2,
        Anchor::TopLeft => 0,
    };
    let left = begin(width.saturating_sub(image.width)) * image.channels;
    let top = begin(height.saturating_sub(image.height));
    let mut field = Pixels {
        width,
        height,
        channels: image.channels,
        levels: vec![fill; width * height * image.channels],
    };
    let (row, length) = (field.row(), image.row());
    let rows = field.levels.chunks_exact_mut(row).skip(top);
    for (to, from) in rows.zip(image.levels.chunks_exact(length)) {
        to[left..left + length].copy_from_slice(from);
    }
    field
}
