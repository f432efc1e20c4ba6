//! Steps of the preprocessing that are done to the pixels of images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_images as images;

/// Reading of an image: three channels, red first, of 8 bits each, `"NHWC"`. Gray becomes three equal channels, alpha is left
/// out, of 16 bits the upper 8 are taken, and of several frames the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decode {
    /// Photographs whose Exif says that the camera was turned.
    #[serde(default)]
    pub orientation: Orientation,
}

/// Reading of turned photographs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Orientation {
    /// As they are stored, which is how Pillow's `open` and torchvision's datasets read them.
    #[default]
    Stored,
    /// Upright, as OpenCV's `imread` reads them.
    Upright,
}

/// Another size. Exactly one of `size` and `short` is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resize {
    /// Width and height.
    pub size: Option<Extent>,
    /// The shorter side. The longer one is scaled by the same factor and rounded down, as by torchvision's `Resize`.
    #[schemars(range(min = 1, max = 16384))]
    pub short: Option<u32>,
    /// Weights of the neighbours, of those that the library has.
    #[serde(default)]
    pub filter: Filter,
    /// The library whose arithmetic the step has, to the last level or at most one from it.
    #[serde(default)]
    pub like: Like,
}

/// Scaled until it touches two sides of a field, with the field's level elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Letterbox {
    /// Width and height of the field.
    pub size: Extent,
    /// The level of the field, in every channel. Absent: 114.
    #[serde(default = "gray")]
    #[schemars(range(min = 0, max = 255))]
    pub fill: u32,
    /// The place of the image.
    #[serde(default)]
    pub at: At,
    /// The whole number of pixels that a side of the scaled image gets.
    #[serde(default)]
    pub round: Round,
    /// As of `resize`.
    #[serde(default)]
    pub filter: Filter,
    /// As of `resize`.
    #[serde(default)]
    pub like: Like,
}

fn gray() -> u32 {
    114
}

/// A part of the image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Crop {
    /// Width and height.
    pub size: Extent,
    /// The place of the part.
    #[serde(default)]
    pub at: At,
}

/// One channel of three: their luma by Recommendation BT.601.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gray {
    /// The library whose weights the step has.
    #[serde(default)]
    pub like: Like,
}

/// Width and height in pixels, each from 1 to 16384.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Extent(#[schemars(inner(range(min = 1, max = 16384)))] pub [u32; 2]);

/// The place of a part in a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// In the middle.
    #[default]
    Center,
    /// At the top, on the left.
    TopLeft,
}

/// A whole number of pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Round {
    /// Rounded down.
    #[default]
    Down,
    /// The nearest, ties to even.
    Nearest,
}

/// The library whose arithmetic a step has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Like {
    /// Pillow, and so torchvision on its images. Filters widen where an image becomes smaller.
    #[default]
    Pillow,
    /// OpenCV. Filters but `area` look at as many neighbours whatever the factor.
    Opencv,
}

/// Weights of the pixels around a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
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

impl Extent {
    fn pixels(self) -> [usize; 2] {
        self.0.map(|side| side as usize)
    }
}

impl From<Like> for images::Like {
    fn from(like: Like) -> images::Like {
        match like {
            Like::Pillow => images::Like::Pillow,
            Like::Opencv => images::Like::Opencv,
        }
    }
}

impl From<Filter> for images::Filter {
    fn from(filter: Filter) -> images::Filter {
        match filter {
            Filter::Nearest => images::Filter::Nearest,
            Filter::Box => images::Filter::Box,
            Filter::Bilinear => images::Filter::Bilinear,
            Filter::Hamming => images::Filter::Hamming,
            Filter::Bicubic => images::Filter::Bicubic,
            Filter::Lanczos => images::Filter::Lanczos,
            Filter::Area => images::Filter::Area,
        }
    }
}

impl From<At> for images::Anchor {
    fn from(at: At) -> images::Anchor {
        match at {
            At::Center => images::Anchor::Center,
            At::TopLeft => images::Anchor::TopLeft,
        }
    }
}

/// A filter of a library; none where the library lacks it.
fn filter(filter: Filter, like: Like) -> Option<(images::Filter, images::Like)> {
    let (filter, like) = (filter.into(), images::Like::from(like));
    like.filters().contains(&filter).then_some((filter, like))
}

const NO_FILTER: (&str, &str) = (
    "the library has no such filter",
    "\"pillow\" has nearest, box, bilinear, hamming, bicubic and lanczos, \"opencv\" nearest, bilinear, bicubic and area",
);

impl Resize {
    /// The step; a fault and advice where it is none.
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
        let (filter, like) = filter(self.filter, self.like).ok_or(NO_FILTER)?;
        Ok(images::Step::Resize(images::Resize { size, filter, like }))
    }
}

impl Letterbox {
    /// As [`Resize::step`].
    pub(super) fn step(&self) -> Result<images::Step, (&'static str, &'static str)> {
        let (filter, like) = filter(self.filter, self.like).ok_or(NO_FILTER)?;
        Ok(images::Step::Letterbox(images::Letterbox {
            size: self.size.pixels(),
            // The schema has held it against the range.
            fill: self.fill.min(255) as u8,
            anchor: self.at.into(),
            rounding: match self.round {
                Round::Down => images::Rounding::Down,
                Round::Nearest => images::Rounding::Nearest,
            },
            filter,
            like,
        }))
    }
}

impl Crop {
    /// The step.
    pub(super) fn step(&self) -> images::Step {
        images::Step::Crop(images::Crop {
            size: self.size.pixels(),
            anchor: self.at.into(),
        })
    }
}
