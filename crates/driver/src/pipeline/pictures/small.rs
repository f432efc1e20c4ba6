//! Makes pictures small, and writes them as text.

use strait_images::{Pixels, encode_png};

use crate::report::{Look, MOST_SIDE};

/// So many pixels of the longer side of a picture are kept until it is known how small it has to be.
const KEPT: usize = 4 * MOST_SIDE;

/// A picture whose longer side has at most [`KEPT`] pixels.
pub(super) struct Small {
    pub(super) pixels: Pixels,
    /// Each pixel is the mean of a square of so many pixels wide and high.
    each: usize,
}

impl Small {
    pub(super) fn new(pixels: &Pixels) -> Small {
        let each = pixels.width.max(pixels.height).div_ceil(KEPT).max(1);
        Small {
            pixels: pixels.shrunk(each),
            each,
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
    let pixels = pixels.shrunk(factor);
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
