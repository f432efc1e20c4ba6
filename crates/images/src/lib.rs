//! Images as samples: pixels out of PNG and JPEG, and what is done to them before they become numbers.
//!
//! Everything here is a function of bytes: no files, no configuration, no threads. Pixels are levels of 8 bits, rows from top
//! to bottom, the channels of a pixel side by side: red, green and blue, or one of gray.
//!
//! A network was trained on what some library made of an image, to the last level: resampling alone moves levels by more than
//! quantization does. So each step says whose [arithmetic](Like) it has, and tests hold it against that library from the same
//! decoded pixels.

mod decode;
mod error;
mod exif;
mod jpeg;
mod pipeline;
mod pixels;
mod place;
mod png;
mod resize;

pub use decode::{MOST_BYTES, MOST_PIXELS, decode, decoder};
pub use error::ImageError;
pub use pipeline::{Crop, Letterbox, Pipeline, Resize, Size, Step};
pub use pixels::Pixels;
pub use place::{Anchor, Rounding};
pub use png::encode as encode_png;
pub use resize::{Filter, Like};
