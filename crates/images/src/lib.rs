//! Reads images as samples: decodes PNG and JPEG files to pixels, and resizes, crops and converts images before the
//! preprocessing computes with numbers.
//!
//! Everything here is a function of bytes, without files, configuration or threads. Pixels are levels of 8 bits, with
//! rows from top to bottom. The channels of a pixel are neighbours: red, green and blue, or a single one for gray.
//!
//! A network was trained on the exact levels that some library computed. A different method of resampling can by itself
//! change levels by more than quantization does. So each step of the preprocessing states the library whose [arithmetic](Like) it
//! reproduces, and tests compare the results with those of the library on the same decoded pixels.

mod decode;
mod error;
mod exif;
mod jpeg;
mod like;
mod pipeline;
mod pixels;
mod place;
mod png;
mod resize;
mod small;

pub use decode::{MOST_BYTES, decode, decoder};
pub use error::ImageError;
pub use like::Filter;
pub use like::Like;
pub use pipeline::{Crop, Letterbox, Pipeline, Resize, Size, Step};
pub use pixels::MOST_PIXELS;
pub use pixels::Pixels;
pub use place::{Anchor, Rounding};
pub use png::encode as encode_png;
