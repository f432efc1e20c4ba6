//! OpenCV's `INTER_AREA` for an image that shrinks in both directions. Each pixel of the result is the mean of the
//! source area that it covers. The mean is computed in f32, first along rows.
//!
//! If both sizes shrink by a whole factor, the area has n whole source pixels. Let x be their levels:
//!
//! ```text
//! y = round(Σ x · (1 / n)), ties to even; for 2 × 2 pixels, y = (Σ x + 2) >> 2
//! ```
//!
//! Otherwise, let f be the number of source pixels for one pixel of the result, along one direction. Pixel i of the
//! result covers the source from a = i · f to a + f. The weight of a source pixel is the part of it that is covered,
//! divided by min(f, size − a), where `size` is the size of the source. Parts of 0.001 or less are left out.

use crate::Pixels;

pub(super) fn resize(image: &Pixels, [width, height]: [usize; 2]) -> Pixels {
    let whole = image.width.is_multiple_of(width) && image.height.is_multiple_of(height);
    match whole {
        true => blocks(image, [width, height]),
        false => parts(image, [width, height]),
    }
}

fn blocks(image: &Pixels, [width, height]: [usize; 2]) -> Pixels {
    let (wide, high, channels) = (image.width / width, image.height / height, image.channels);
    let inverse = 1.0 / (wide * high) as f32;
    let mut levels = Vec::with_capacity(width * height * channels);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..channels {
                let row = |row: usize| &image.levels[((y * high + row) * image.width + x * wide) * channels..];
                let of_row = |at: usize| -> u64 {
                    let row = &row(at)[..wide * channels];
                    row.chunks_exact(channels).map(|pixel| u64::from(pixel[channel])).sum()
                };
                let sum: u64 = (0..high).map(of_row).sum();
                levels.push(match (wide, high) {
                    (2, 2) => ((sum + 2) >> 2) as u8,
                    _ => level(sum as f32 * inverse),
                });
            }
        }
    }
    Pixels {
        width,
        height,
        channels,
        levels,
    }
}

fn level(x: f32) -> u8 {
    x.round_ties_even().clamp(0.0, 255.0) as u8
}

/// For each pixel of the result: the source pixels that the result's pixel covers, with their weights.
fn shares(from: usize, to: usize) -> Vec<Vec<(usize, f32)>> {
    let factor = 1.0 / (to as f64 / from as f64);
    let share = |x: usize| {
        let begin = x as f64 * factor;
        let end = begin + factor;
        let width = factor.min(from as f64 - begin);
        let last = (end.floor() as usize).min(from - 1);
        let first = (begin.ceil() as usize).min(last);
        let mut found = Vec::new();
        if first as f64 - begin > 1e-3 && first > 0 {
            found.push((first - 1, ((first as f64 - begin) / width) as f32));
        }
        found.extend((first..last).map(|at| (at, (1.0 / width) as f32)));
        if end - last as f64 > 1e-3 {
            let part = (end - last as f64).min(1.0).min(width);
            found.push((last, (part / width) as f32));
        }
        found
    };
    (0..to).map(share).collect()
}

fn parts(image: &Pixels, [width, height]: [usize; 2]) -> Pixels {
    let (across, down) = (shares(image.width, width), shares(image.height, height));
    let channels = image.channels;
    let mut levels = Vec::with_capacity(width * height * channels);
    let mut row = vec![0f32; width * channels];
    let mut sums = row.clone();
    for share in &down {
        sums.fill(0.0);
        for &(y, weight) in share {
            let source = &image.levels[y * image.row()..][..image.row()];
            for (out, share) in row.chunks_exact_mut(channels).zip(&across) {
                for (channel, out) in out.iter_mut().enumerate() {
                    *out = 0.0;
                    for &(x, weight) in share {
                        *out += f32::from(source[x * channels + channel]) * weight;
                    }
                }
            }
            sums.iter_mut().zip(&row).for_each(|(sum, x)| *sum += x * weight);
        }
        levels.extend(sums.iter().map(|&sum| level(sum)));
    }
    Pixels {
        width,
        height,
        channels,
        levels,
    }
}
