//! The steps of the preprocessing that work on the pixels of images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_images::{self as images, Anchor, Filter, Like, Rounding};

/// Reads an image as three 8-bit channels, red first, in the layout `"NHWC"`. A gray image becomes three equal channels. An
/// alpha channel is dropped. Of 16-bit channels the upper 8 bits are taken, and of several frames the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Decode {
    /// What to do if the Exif data say that the camera was turned.
    pub orientation: Orientation,
}

/// How to read a photograph for which the camera was turned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Orientation {
    /// Read the image as it is stored. Pillow's `open` and torchvision's datasets do so.
    #[default]
    Stored,
    /// Turn the image upright. OpenCV's `imread` does so.
    Upright,
}

/// Resizes an image. Exactly one of `size` and `short` is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Resize {
    /// Width and height.
    pub size: Option<Extent>,
    /// The length of the shorter side. The longer side is scaled by the same factor and rounded down, as in torchvision's
    /// `Resize`.
    #[schemars(range(min = 1, max = 16384))]
    pub short: Option<u32>,
    /// The interpolation filter. Not every library supports every filter.
    pub filter: Filter,
    /// The library whose arithmetic the step reproduces. The levels of the pixels are equal to those of the library, or differ
    /// by at most one.
    pub like: Like,
}

/// Scales an image until it touches two opposite sides of a field. The rest of the field is filled with a fixed level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Letterbox {
    /// Width and height of the field.
    pub size: Extent,
    /// The level with which the rest of the field is filled, in every channel.
    #[serde(default = "gray")]
    #[schemars(range(min = 0, max = 255))]
    pub fill: u32,
    /// The position of the image in the field.
    #[serde(default)]
    pub at: Anchor,
    /// How a side of the scaled image is rounded to a whole number of pixels.
    #[serde(default)]
    pub round: Rounding,
    /// The interpolation filter, as in `resize`.
    #[serde(default)]
    pub filter: Filter,
    /// The library whose arithmetic the step reproduces, as in `resize`.
    #[serde(default)]
    pub like: Like,
}

fn gray() -> u32 {
    114
}

/// Cuts a part out of an image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Crop {
    /// Width and height.
    pub size: Extent,
    /// The position of the part in the image.
    #[serde(default)]
    pub at: Anchor,
}

/// Converts three channels to one: the luma of Recommendation BT.601.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gray {
    /// The library whose weights the step uses.
    pub like: Like,
}

/// Width and height in pixels, each from 1 to 16384.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Extent(#[schemars(inner(range(min = 1, max = 16384)))] pub [u32; 2]);

impl Extent {
    fn pixels(self) -> [usize; 2] {
        self.0.map(|side| side as usize)
    }
}

const NO_FILTER: (&str, &str) = (
    "the library has no such filter",
    "\"pillow\" has nearest, box, bilinear, hamming, bicubic and lanczos, \"opencv\" nearest, bilinear, bicubic and area",
);

impl Resize {
    /// Converts the table to a step. If this is not possible, returns the error and advice.
    pub(super) fn step(&self) -> Result<images::Step, (&'static str, &'static str)> {
        let size = match (self.size, self.short) {
            (Some(size), None) => images::Size::Both(size.pixels()),
            (None, Some(short)) => images::Size::Short(short as usize),
            _ => {
                return Err((
                    "`size` or `short` is needed, and not both",
                    "size = [224, 224], or short = 256",
                ));
            }
        };
        let &Resize { filter, like, .. } = self;
        let step = images::Step::Resize(images::Resize { size, filter, like });
        like.filters().contains(&filter).then_some(step).ok_or(NO_FILTER)
    }
}

impl Letterbox {
    /// Converts the table to a step. If this is not possible, returns the error and advice.
    pub(super) fn step(&self) -> Result<images::Step, (&'static str, &'static str)> {
        let &Letterbox { filter, like, .. } = self;
        let step = images::Step::Letterbox(images::Letterbox {
            size: self.size.pixels(),
            // The check has already refused numbers above 255.
            fill: self.fill.min(255) as u8,
            anchor: self.at,
            rounding: self.round,
            filter,
            like,
        });
        like.filters().contains(&filter).then_some(step).ok_or(NO_FILTER)
    }
}

impl Crop {
    /// Converts the table to a step.
    pub(super) fn step(&self) -> images::Step {
        images::Step::Crop(images::Crop {
            size: self.size.pixels(),
            anchor: self.at,
        })
    }
}
