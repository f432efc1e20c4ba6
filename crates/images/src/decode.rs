//! From the bytes of a file to pixels.

use crate::{ImageError, Pixels, jpeg, png};

/// A larger file is no image.
pub const MOST_BYTES: u64 = 256 << 20;

/// The most pixels of an image, known before memory is taken for them: 8,192 × 8,192.
pub const MOST_PIXELS: usize = 1 << 26;

/// The first bytes of the formats.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG: &[u8] = b"\xff\xd8\xff";

/// Names and versions of the decoders. What they make of a file does not change within a version.
pub fn decoder() -> &'static str {
    "png 0.18, JPEG as libjpeg-turbo 3"
}

/// The pixels of a PNG or a JPEG, as their first bytes tell: red, green and blue, whatever the file holds.
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
/// | an orientation (Exif) | the image as it is stored, or turned where `turn` says so |
///
/// # Errors
/// A file that is neither, that is cut short or garbled, or that has more than [`MOST_PIXELS`].
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

/// Holds the size that a file states against the most pixels, before memory is taken.
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
