//! Makes pictures small, and writes them as text.

use strait_images::{Pixels, encode_png};

use crate::report::{Look, MOST_SIDE};

/// So many pixels of the longer side of a picture are kept until it is known how small it has to be.
const KEPT: usize = 4 * MOST_SIDE;

/// A picture whose longer side has at most [`KEPT`] pixels.
pub(super) struct Small {
    pixels: Pixels,
    /// Each pixel is the mean of a square of so many pixels wide and high.
    each: usize,
}

impl Small {
    pub(super) fn new(pixels: &Pixels) -> Small {
        let each = pixels.width.max(pixels.height).div_ceil(KEPT).max(1);
        Small {
            pixels: means(pixels, each),
            each,
        }
    }

    /// The largest level.
    pub(super) fn brightest(&self) -> u8 {
        self.pixels.levels.iter().copied().max().unwrap_or(0)
    }

    /// Makes `white` the largest level, and the others brighter by the same factor.
    pub(super) fn brighten(&mut self, white: u8) {
        for level in &mut self.pixels.levels {
            let scaled = (u32::from(*level) * 255 + u32::from(white) / 2) / u32::from(white).max(1);
            *level = scaled.min(255) as u8;
        }
    }
}

/// Writes the pictures as PNG, all of them smaller by the same factor, which is the smallest one with which their files have
/// at most `budget` bytes together.
pub(super) fn fit(pictures: &[&Small], budget: usize) -> Vec<Look> {
    let sides = pictures.iter().map(|small| small.pixels.width.max(small.pixels.height));
    let most = sides.max().unwrap_or(0);
    let mut factor = most.div_ceil(MOST_SIDE).max(1);
    loop {
        let (mut files, mut bytes) = (Vec::with_capacity(pictures.len()), 0);
        let is_last = factor >= most;
        for small in pictures {
            let (pixels, file) = png(&small.pixels, factor);
            bytes += file.len();
            // The other pictures would only make it more.
            if bytes > budget && !is_last {
                break;
            }
            files.push(look(&pixels, small.each * factor, &file));
        }
        if bytes <= budget || is_last {
            return files;
        }
        factor += 1;
    }
}

fn png(pixels: &Pixels, factor: usize) -> (Pixels, Vec<u8>) {
    let pixels = means(pixels, factor);
    let mut file = Vec::new();
    // Writing to memory cannot fail.
    let _ = encode_png(&pixels, &mut file);
    (pixels, file)
}

fn look(pixels: &Pixels, each: usize, file: &[u8]) -> Look {
    Look::Picture {
        size: [pixels.width, pixels.height].map(|side| side as u32),
        each: each as u32,
        png: base64(file),
    }
}

/// Replaces each square of `each` · `each` pixels by its mean, rounded half up. Squares at the right and lower border may be
/// cut.
fn means(pixels: &Pixels, each: usize) -> Pixels {
    if each <= 1 {
        return pixels.clone();
    }
    let (width, height) = (pixels.width.div_ceil(each), pixels.height.div_ceil(each));
    let row = (pixels.width * pixels.channels).max(1);
    let square = each * pixels.channels.max(1);
    let mut levels = Vec::with_capacity(width * height * pixels.channels);
    for rows in pixels.levels.chunks(row * each) {
        let mut sums = vec![0u64; width * pixels.channels];
        for row in rows.chunks(row) {
            for (sums, square) in sums.chunks_mut(pixels.channels.max(1)).zip(row.chunks(square)) {
                for pixel in square.chunks(pixels.channels.max(1)) {
                    sums.iter_mut()
                        .zip(pixel)
                        .for_each(|(sum, &level)| *sum += u64::from(level));
                }
            }
        }
        let high = rows.len() / row;
        for (x, sums) in sums.chunks(pixels.channels.max(1)).enumerate() {
            let wide = each.min(pixels.width - x * each);
            let count = (high * wide).max(1) as u64;
            levels.extend(sums.iter().map(|sum| ((sum + count / 2) / count).min(255) as u8));
        }
    }
    Pixels {
        width,
        height,
        channels: pixels.channels,
        levels,
    }
}

/// Writes bytes as text, by RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4u32 {
            let letter = LETTERS
                .get((bits >> (18 - 6 * at)) as usize & 63)
                .copied()
                .unwrap_or(b'=');
            text.push(if at as usize > chunk.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_that_of_the_standard() {
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, expected) in expected.into_iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), expected);
        }
    }

    #[test]
    fn means_are_rounded_and_squares_at_the_border_are_cut() {
        let pixels = Pixels {
            width: 3,
            height: 2,
            channels: 1,
            levels: vec![0, 1, 10, 0, 1, 30],
        };
        let small = means(&pixels, 2);
        assert_eq!((small.width, small.height, small.levels), (2, 1, vec![1, 20]));
    }

    #[test]
    fn dark_pictures_become_brighter() {
        let mut small = Small::new(&Pixels {
            width: 3,
            height: 1,
            channels: 1,
            levels: vec![0, 8, 16],
        });
        assert_eq!(small.brightest(), 16);
        small.brighten(16);
        assert_eq!(small.pixels.levels, [0, 128, 255]);
    }

    #[test]
    fn pictures_become_smaller_until_they_fit() {
        // Numbers without a pattern cannot be compressed.
        let mut state = 1u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let pixels = Pixels {
            width: 300,
            height: 200,
            channels: 3,
            levels: (0..300 * 200 * 3).map(|_| noise()).collect(),
        };
        let small = Small::new(&pixels);
        for budget in [100_000, 10_000, 1_000] {
            let looks = fit(&[&small, &small], budget);
            let sizes = looks.iter().map(|look| match look {
                Look::Picture { size, each, png } => {
                    assert!(size[0] as usize <= MOST_SIDE && *each >= 3, "{size:?} {each}");
                    png.len() / 4 * 3
                }
                Look::Curve(_) => 0,
            });
            let sum: usize = sizes.sum();
            assert!(sum > budget / 8 && sum <= budget + 6, "{sum} of {budget}");
        }
    }
}
