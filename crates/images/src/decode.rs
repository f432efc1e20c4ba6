//! Decodes the bytes of an image file to pixels.

use crate::{ImageError, Pixels, jpeg, png};

/// The largest image file that is read, in bytes.
pub const MOST_BYTES: u64 = 256 << 20;

/// The largest number of pixels of an image, 8,192 × 8,192. It is checked before memory is allocated for them.
pub const MOST_PIXELS: usize = 1 << 26;

/// The first bytes of a PNG file.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The first bytes of a JPEG file.
const JPEG: &[u8] = b"\xff\xd8\xff";

/// Names and versions of the decoders. Within a version, they decode a file always to the same pixels.
pub fn decoder() -> &'static str {
    "png 0.18, JPEG as libjpeg-turbo 3"
}

/// Decodes a PNG or a JPEG, which are told apart by their first bytes. The pixels are always red, green and blue:
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
/// The file is neither a PNG nor a JPEG, is truncated or corrupt, or has more than [`MOST_PIXELS`].
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

/// Checks the size that a file states against the largest number of pixels, before memory is allocated.
pub(crate) fn admit(width: u64, height: u64) -> Result<(usize, usize), ImageError> {
    let pixels = width
        .checked_mul(height)
        .and_then(|pixels| usize::try_from(pixels).ok());
    if width == 0 || height == 0 {
        return Err(ImageError::Damaged(format!("it has {width}×{height} pixels")));
    }
    match pixels {
        Some(pixels) if pixels <= MOST_PIXELS => Ok((width as usize, height as usize)),
        _ => Err(ImageError::TooLarge {
            width,
            height,
            most: MOST_PIXELS,
        }),
    }
}
