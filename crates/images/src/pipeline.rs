//! The steps that are applied to pixels, in order.

use serde::Serialize;

use crate::{
    Anchor, Filter, ImageError, Like, Pixels, Rounding, decode,
    place::{crop, on_field},
    resize::resize,
};

/// How the bytes of a file become the pixels of a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pipeline {
    /// If true, the image is rotated as its Exif data say. If false, it is used as it is stored.
    pub turn: bool,
    /// The steps after decoding.
    pub steps: Vec<Step>,
}

/// One step of the pipeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Changes the size of the image.
    Resize(Resize),
    /// Scales the image to fit into a field of a fixed size, and fills the rest.
    Letterbox(Letterbox),
    /// Cuts out a part of the image.
    Crop(Crop),
    /// Swaps the first and the last channel.
    SwapColors,
    /// Converts three channels to one.
    Gray {
        /// The library whose arithmetic is used.
        like: Like,
        /// True if blue is the first channel.
        first_is_blue: bool,
    },
}

/// Changes the size of an image; see [`Step::Resize`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resize {
    /// The size after the resize.
    pub size: Size,
    /// The filter that weights neighbouring pixels.
    pub filter: Filter,
    /// The library whose arithmetic is used.
    pub like: Like,
}

/// The size to resize to, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// A fixed width and height.
    Both([usize; 2]),
    /// The length of the shorter side. The longer one is scaled by the same factor and rounded down, as by torchvision.
    Short(usize),
}

/// Scales an image to fit into a field of a fixed size, and fills the rest; see [`Step::Letterbox`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Letterbox {
    /// Width and height of the field.
    pub size: [usize; 2],
    /// The level that fills the rest of the field, in every channel.
    pub fill: u8,
    /// Where the image is placed in the field.
    pub anchor: Anchor,
    /// How the sides of the scaled image are rounded.
    pub rounding: Rounding,
    /// The filter that weights neighbouring pixels.
    pub filter: Filter,
    /// The library whose arithmetic is used.
    pub like: Like,
}

/// Cuts out a part of an image; see [`Step::Crop`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crop {
    /// Width and height of the part.
    pub size: [usize; 2],
    /// Where the part lies in the image.
    pub anchor: Anchor,
}

impl Pipeline {
    /// Decodes a file and applies all steps to its pixels.
    ///
    /// # Errors
    /// As for [`decode`]; also if a crop is larger than the image, or if the image becomes too large.
    pub fn run(&self, bytes: &[u8]) -> Result<Pixels, ImageError> {
        let pixels = decode(bytes, self.turn)?;
        self.steps.iter().try_fold(pixels, |pixels, step| step.apply(pixels))
    }

    /// Returns the width and height of an image after the steps, and the number of channels. Width and height are
    /// `None` if they are not the same for all images.
    pub fn size(&self) -> (Option<[usize; 2]>, usize) {
        let known = self.steps.iter().rev().find_map(|step| match step {
            Step::Resize(Resize {
                size: Size::Both(size), ..
            }) => Some(Some(*size)),
            Step::Resize(_) => Some(None),
            Step::Letterbox(letterbox) => Some(Some(letterbox.size)),
            Step::Crop(crop) => Some(Some(crop.size)),
            Step::SwapColors | Step::Gray { .. } => None,
        });
        let is_gray = self.steps.iter().any(|step| matches!(step, Step::Gray { .. }));
        (known.flatten(), if is_gray { 1 } else { 3 })
    }

    /// Names and versions of the libraries whose arithmetic the steps reproduce, in the order of the steps and without
    /// duplicates.
    pub fn arithmetic(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        for step in &self.steps {
            let name = match step {
                Step::Resize(Resize { like, .. })
                | Step::Letterbox(Letterbox { like, .. })
                | Step::Gray { like, .. } => like.version(),
                Step::Crop(_) | Step::SwapColors => continue,
            };
            if !found.contains(&name) {
                found.push(name);
            }
        }
        found
    }
}

impl Step {
    fn apply(&self, mut pixels: Pixels) -> Result<Pixels, ImageError> {
        let [width, height] = [pixels.width, pixels.height];
        match self {
            Step::Resize(Resize { size, filter, like }) => {
                let size = match *size {
                    Size::Both(size) => size,
                    Size::Short(short) => {
                        let scaled =
                            |long: usize, of: usize| ((short as f64 * long as f64 / of as f64) as usize).max(1);
                        match width <= height {
                            true => [short, scaled(height, width)],
                            false => [scaled(width, height), short],
                        }
                    }
                };
                resize(pixels, size, *filter, *like)
            }
            Step::Letterbox(letterbox) => {
                let [wide, high] = letterbox.size;
                let factor = (wide as f64 / width as f64).min(high as f64 / height as f64);
                // The factor is rounded, so without the limit a side could become one pixel too large.
                let side = |side: usize, most: usize| letterbox.rounding.side(side as f64 * factor).min(most);
                let scaled = [side(width, wide), side(height, high)];
                let image = resize(pixels, scaled, letterbox.filter, letterbox.like)?;
                Ok(on_field(&image, letterbox.size, letterbox.fill, letterbox.anchor))
            }
            Step::Crop(Crop { size, anchor }) => crop(&pixels, *size, *anchor),
            Step::SwapColors => {
                pixels.swap_colors();
                Ok(pixels)
            }
            Step::Gray { like, first_is_blue } => match pixels.channels {
                3 => Ok(pixels.gray(*like, *first_is_blue)),
                _ => Err(ImageError::IsGray),
            },
        }
    }
}
