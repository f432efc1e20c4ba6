//! Steps on pixels, in the order in which they are done.

use serde::Serialize;

use crate::{
    Anchor, Filter, ImageError, Like, Pixels, Rounding, decode,
    place::{crop, on_field},
    resize::resize,
};

/// From the bytes of a file to the pixels that become numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pipeline {
    /// True: an image is turned as its Exif says. False: it is taken as it is stored.
    pub turn: bool,
    /// The steps behind decoding.
    pub steps: Vec<Step>,
}

/// One thing done to the pixels.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Another size.
    Resize(Resize),
    /// Scaled onto a field.
    Letterbox(Letterbox),
    /// A part.
    Crop(Crop),
    /// The first channel and the last change places.
    SwapColors,
    /// One channel of three.
    Gray {
        /// Whose arithmetic.
        like: Like,
        /// True: blue comes first.
        first_is_blue: bool,
    },
}

/// See [`Step::Resize`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resize {
    /// The size behind it.
    pub size: Size,
    /// Weights of the neighbours.
    pub filter: Filter,
    /// Whose arithmetic.
    pub like: Like,
}

/// A size in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// Width and height.
    Both([usize; 2]),
    /// The shorter side; the longer one is scaled by the same factor and rounded down, as by torchvision.
    Short(usize),
}

/// See [`Step::Letterbox`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Letterbox {
    /// Width and height of the field.
    pub size: [usize; 2],
    /// The level of the field where the image is not, in every channel.
    pub fill: u8,
    /// The place of the image.
    pub anchor: Anchor,
    /// The sides of the scaled image.
    pub rounding: Rounding,
    /// Weights of the neighbours.
    pub filter: Filter,
    /// Whose arithmetic.
    pub like: Like,
}

/// See [`Step::Crop`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crop {
    /// Width and height.
    pub size: [usize; 2],
    /// The place.
    pub anchor: Anchor,
}

impl Pipeline {
    /// The pixels of a file behind all steps.
    ///
    /// # Errors
    /// As for [`decode`], a part that is larger than the image, and an image that becomes too large.
    pub fn run(&self, bytes: &[u8]) -> Result<Pixels, ImageError> {
        let pixels = decode(bytes, self.turn)?;
        self.steps.iter().try_fold(pixels, |pixels, step| step.apply(pixels))
    }

    /// Width, height and channels of each image behind the steps, as far as they are the same for all.
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

    /// Whose arithmetic the steps have, in their order and each once: names and versions of what is followed.
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
                // The factor is rounded, so that a side may come out one larger.
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
