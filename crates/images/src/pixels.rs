//! The pixels of an image, and operations that treat each pixel separately.

use crate::ImageError;
use crate::Like;

/// An image: `height` rows of `width` pixels, with `channels` levels each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Width in pixels; not 0.
    pub width: usize,
    /// Height in pixels, from top to bottom; not 0.
    pub height: usize,
    /// Number of channels: 1 (gray) or 3.
    pub channels: usize,
    /// The levels. There are `height · width · channels` of them.
    pub levels: Vec<u8>,
}

impl Pixels {
    /// Number of levels in a row.
    pub(crate) fn row(&self) -> usize {
        self.width * self.channels
    }

    /// Swaps the first and the last channel.
    pub(crate) fn swap_colors(&mut self) {
        if self.channels == 3 {
            self.levels.chunks_exact_mut(3).for_each(|pixel| pixel.swap(0, 2));
        }
    }

    /// Converts the image to gray. The gray level is the luma of red (r), green (g) and blue (b) by Recommendation
    /// BT.601, rounded as the library `like` does:
    ///
    /// ```text
    /// Pillow   (19595 r + 38470 g +  7471 b + 2¹⁵) >> 16     convert("L")
    /// OpenCV   ( 9798 r + 19235 g +  3735 b + 2¹⁴) >> 15     cvtColor
    /// ```
    ///
    /// If `first_is_blue` is true, blue is the first channel.
    pub(crate) fn gray(&self, like: Like, first_is_blue: bool) -> Pixels {
        let ([r, g, b], shift) = match like {
            Like::Pillow => ([19595u32, 38470, 7471], 16),
            Like::Opencv => ([9798, 19235, 3735], 15),
        };
        let [first, second, third] = if first_is_blue { [b, g, r] } else { [r, g, b] };
        let luma = |pixel: &[u8]| {
            let sum = first * u32::from(pixel[0]) + second * u32::from(pixel[1]) + third * u32::from(pixel[2]);
            // The weights add up to 2^shift, so the result is between 0 and 255.
            ((sum + (1 << (shift - 1))) >> shift) as u8
        };
        Pixels {
            channels: 1,
            levels: self.levels.chunks_exact(3).map(luma).collect(),
            ..*self
        }
    }

    /// Returns the image as the photographer saw it. The Exif orientations 2 to 8 say where row 0 and column 0 of the
    /// stored image belong. For any other value, the image is not changed.
    pub(crate) fn oriented(self, orientation: u8) -> Pixels {
        let (w, h) = (self.width, self.height);
        // Computes, for the pixel (x, y) of the result, its position in the image as the file stores it.
        let stored: fn(usize, usize, usize, usize) -> (usize, usize) = match orientation {
            2 => |x, y, w, _| (w - 1 - x, y),
            3 => |x, y, w, h| (w - 1 - x, h - 1 - y),
            4 => |x, y, _, h| (x, h - 1 - y),
            5 => |x, y, _, _| (y, x),
            6 => |x, y, _, h| (y, h - 1 - x),
            7 => |x, y, w, h| (w - 1 - y, h - 1 - x),
            8 => |x, y, w, _| (w - 1 - y, x),
            _ => return self,
        };
        let [width, height] = if orientation > 4 { [h, w] } else { [w, h] };
        let mut levels = Vec::with_capacity(self.levels.len());
        for y in 0..height {
            for x in 0..width {
                let (from_x, from_y) = stored(x, y, w, h);
                let at = (from_y * w + from_x) * self.channels;
                levels.extend_from_slice(&self.levels[at..at + self.channels]);
            }
        }
        Pixels {
            width,
            height,
            channels: self.channels,
            levels,
        }
    }
}

/// Refuses an image that has more than the largest number of pixels according to the size that its file states. This is
/// checked before memory is allocated.
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

/// The largest number of pixels that an image may have: 8,192 × 8,192. The number is checked before memory for the
/// pixels is allocated.
pub const MOST_PIXELS: usize = 1 << 26;

#[cfg(test)]
mod tests {
    use super::*;

    /// An image with two rows of three pixels, whose levels are 1 to 6.
    fn six() -> Pixels {
        Pixels {
            width: 3,
            height: 2,
            channels: 1,
            levels: vec![1, 2, 3, 4, 5, 6],
        }
    }

    /// Checks each Exif orientation against a result that was worked out by hand.
    #[test]
    fn orientations_turn_and_mirror() {
        for (orientation, width, expected) in [
            (1, 3, [1, 2, 3, 4, 5, 6]),
            (2, 3, [3, 2, 1, 6, 5, 4]),
            (3, 3, [6, 5, 4, 3, 2, 1]),
            (4, 3, [4, 5, 6, 1, 2, 3]),
            (5, 2, [1, 4, 2, 5, 3, 6]),
            (6, 2, [4, 1, 5, 2, 6, 3]),
            (7, 2, [6, 3, 5, 2, 4, 1]),
            (8, 2, [3, 6, 2, 5, 1, 4]),
            (9, 3, [1, 2, 3, 4, 5, 6]),
        ] {
            let found = six().oriented(orientation);
            assert_eq!(
                (found.width, &found.levels[..]),
                (width, &expected[..]),
                "{orientation}"
            );
        }
    }
}
