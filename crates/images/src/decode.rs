//! Decodes the bytes of an image file to pixels.

use crate::{ImageError, Pixels, jpeg, png};

/// The largest image file that is read, in bytes.
pub const MOST_BYTES: u64 = 256 << 20;

/// The first bytes of a PNG file.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The first bytes of a JPEG file.
const JPEG: &[u8] = b"\xff\xd8\xff";

/// Names and versions of the decoders. A decoder of the same version always decodes a file to the same pixels.
pub fn decoder() -> &'static str {
    "png 0.18, JPEG as libjpeg-turbo 3"
}

/// Decodes a PNG or a JPEG. The first bytes of a file show which of the two it is. The pixels always have the channels
/// red, green and blue:
///
/// | in the file | becomes |
/// |---|---|
/// | gray | three equal levels |
/// | palette | its colors |
/// | alpha | is left out, as by Pillow's `convert("RGB")` and by OpenCV's `imread` |
/// | 16 bits | the upper 8 |
/// | 1, 2 or 4 bits of gray | levels from 0 to 255 |
/// | CMYK | red = (255 − cyan) · (255 − black) / 255, and so on |
/// | several frames | the first |
/// | an orientation (Exif) | the image as it is stored, or rotated if `turn` is true |
///
/// # Errors
/// The file is neither a PNG nor a JPEG, is truncated or corrupt, or has more than [`MOST_PIXELS`](crate::MOST_PIXELS).
pub fn decode(bytes: &[u8], turn: bool) -> Result<Pixels, ImageError> {
    let (pixels, orientation) = if bytes.starts_with(PNG) {
        png::decode(bytes)?
    } else if bytes.starts_with(JPEG) {
        jpeg::decode(bytes)?
    } else {
        return Err(ImageError::Unknown);
    };
    Ok(if turn { pixels.oriented(orientation) } else { pixels })
}
