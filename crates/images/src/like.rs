//! The image libraries whose arithmetic can be reproduced.

use serde::{Deserialize, Serialize};

/// The library whose arithmetic a step reproduces.
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
    /// Name and version of the library that the arithmetic is tested against. Stored statistics refer to this version,
    /// so it must be changed whenever the arithmetic changes.
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
