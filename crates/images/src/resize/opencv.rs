//! Resampling as OpenCV's `resize` does it for levels of 8 bits.
//!
//! ```text
//! x    the position of a pixel of the result, along one direction; x_i is the level of source pixel i
//! f    source pixels for one pixel of the result, 1 / (to / from) in f64
//! p    (x + ½) · f − ½ as f32; i = ⌊p⌋, t = p − i
//! k, b weights along rows and along columns, as integers
//!
//! bilinear   k and b are the nearest integers to 2¹¹ · (1 − t, t)
//!            along rows, r = k₀ · x_i + k₁ · x_{i+1}; at both ends t = 0, and i is moved into the image
//!            along columns, from two rows r₀ and r₁; the nearest row inside stands for a row outside of the image:
//!            y = (((b₀ · (r₀ >> 4)) >> 16) + ((b₁ · (r₁ >> 4)) >> 16) + 2) >> 2
//! bicubic    four neighbours from i − 1 on; k and b are the nearest integers to 2¹¹ times the weights of the cubic filter
//!            with a = −¾; the nearest pixel inside stands for a pixel outside of the image
//!            y = (Σ b · Σ k·x + 2²¹) >> 22
//! nearest    ⌊x · f⌋
//! ```
//!
//! If the image shrinks to half its size, `bilinear` is computed like [`area`]. If the image grows, `area` is computed
//! like `bilinear`, but at other positions.

use super::{area, pick};
use crate::Pixels;
use crate::like::Filter;

/// Number of fractional bits of a weight.
const BITS: u32 = 11;

/// For each pixel of the result: the positions of the source pixels from which it is computed, and their weights.
type Taps<const N: usize> = Vec<([usize; N], [i32; N])>;

pub(super) fn resize(image: &Pixels, [width, height]: [usize; 2], filter: Filter) -> Pixels {
    let halves = image.width == 2 * width && image.height == 2 * height;
    let shrinks = image.width >= width && image.height >= height;
    match filter {
        Filter::Area if shrinks => area::resize(image, [width, height]),
        Filter::Bilinear if halves => area::resize(image, [width, height]),
        Filter::Area => bilinear(image, &spread(image.width, width), &spread(image.height, height)),
        Filter::Bilinear => {
            let (mut across, down) = (linear(image.width, width), linear(image.height, height));
            for ([first, second], weights) in &mut across {
                if *first == *second {
                    *weights = [1 << BITS, 0];
                }
            }
            bilinear(image, &across, &down)
        }
        Filter::Bicubic => bicubic(image, &cubic(image.width, width), &cubic(image.height, height)),
        _ => pick(image, &nearest(image.width, width), &nearest(image.height, height)),
    }
}

/// The number of source pixels for each pixel of the result.
fn factor(from: usize, to: usize) -> f64 {
    1.0 / (to as f64 / from as f64)
}

fn nearest(from: usize, to: usize) -> Vec<usize> {
    let factor = factor(from, to);
    (0..to)
        .map(|x| ((x as f64 * factor).floor() as usize).min(from - 1))
        .collect()
}

/// Converts a weight to an integer with [`BITS`] fractional bits. Ties are rounded to even.
fn fixed(weight: f32) -> i32 {
    (weight * (1 << BITS) as f32).round_ties_even() as i32
}

/// The position inside the image that is nearest to `place`.
fn within(place: i64, from: usize) -> usize {
    place.clamp(0, from as i64 - 1) as usize
}

/// Returns the position in the source that corresponds to pixel `x` of the result, as two numbers: the source pixel
/// before this position, and the distance of the position from that pixel.
fn place(x: usize, factor: f64) -> (i64, f32) {
    let place = ((x as f64 + 0.5) * factor - 0.5) as f32;
    let whole = place.floor();
    (whole as i64, place - whole)
}

fn linear(from: usize, to: usize) -> Taps<2> {
    let factor = factor(from, to);
    let taps = |x| {
        let (whole, t) = place(x, factor);
        let sources = [whole, whole + 1].map(|place| within(place, from));
        (sources, [fixed(1.0 - t), fixed(t)])
    };
    (0..to).map(taps).collect()
}

/// Like [`linear`], but at the positions that the filter `area` uses if an image grows.
fn spread(from: usize, to: usize) -> Taps<2> {
    let (inverse, factor) = (to as f64 / from as f64, factor(from, to));
    let taps = |x: usize| {
        let whole = (x as f64 * factor).floor();
        let t = ((x as f64 + 1.0) - (whole + 1.0) * inverse) as f32;
        let t = if t <= 0.0 { 0.0 } else { t - t.floor() };
        let sources = [whole as i64, whole as i64 + 1].map(|place| within(place, from));
        let t = if sources[0] == sources[1] { 0.0 } else { t };
        (sources, [fixed(1.0 - t), fixed(t)])
    };
    (0..to).map(taps).collect()
}

fn cubic(from: usize, to: usize) -> Taps<4> {
    const A: f32 = -0.75;
    let factor = factor(from, to);
    let taps = |x| {
        let (whole, t) = place(x, factor);
        let far = |t: f32| ((A * t - 5.0 * A) * t + 8.0 * A) * t - 4.0 * A;
        let near = |t: f32| ((A + 2.0) * t - (A + 3.0)) * t * t + 1.0;
        let [first, second, third] = [far(t + 1.0), near(t), near(1.0 - t)];
        let weights = [first, second, third, 1.0 - first - second - third];
        let sources = [-1, 0, 1, 2].map(|offset| within(whole + offset, from));
        (sources, weights.map(fixed))
    };
    (0..to).map(taps).collect()
}

/// Resamples a row of the image to the width of `taps`. The results still have the fractional bits of the weights.
fn row<const N: usize>(image: &Pixels, y: usize, taps: &Taps<N>, out: &mut [i32]) {
    let source = &image.levels[y * image.row()..][..image.row()];
    let channels = image.channels;
    for (out, (sources, weights)) in out.chunks_exact_mut(channels).zip(taps) {
        for (channel, out) in out.iter_mut().enumerate() {
            let each = sources.iter().zip(weights);
            *out = each
                .map(|(at, weight)| weight * i32::from(source[at * channels + channel]))
                .sum();
        }
    }
}

/// Computes the rows of the result. Each row of the result is computed from `N` rows of the image that have been
/// resampled to the new width. Each row of the image is resampled only once.
fn rows<const N: usize>(
    image: &Pixels,
    across: &Taps<N>,
    down: &Taps<N>,
    level: impl Fn([i32; N], [i32; N]) -> u8,
) -> Pixels {
    let (width, channels) = (across.len(), image.channels);
    let mut levels = vec![0; width * channels * down.len()];
    // Row y of the image is kept at index y mod N, until a later row replaces it.
    let mut kept: [(Option<usize>, Vec<i32>); N] = std::array::from_fn(|_| (None, vec![0; width * channels]));
    for (out, (sources, weights)) in levels.chunks_exact_mut(width * channels).zip(down) {
        for &y in sources {
            let (row_of, buffer) = &mut kept[y % N];
            if *row_of != Some(y) {
                row(image, y, across, buffer);
                *row_of = Some(y);
            }
        }
        let from: [&[i32]; N] = sources.map(|y| kept[y % N].1.as_slice());
        for (x, out) in out.iter_mut().enumerate() {
            *out = level(from.map(|row| row[x]), *weights);
        }
    }
    Pixels {
        width,
        height: down.len(),
        channels,
        levels,
    }
}

fn bilinear(image: &Pixels, across: &Taps<2>, down: &Taps<2>) -> Pixels {
    rows(image, across, down, |[first, second], [upper, lower]| {
        ((((upper * (first >> 4)) >> 16) + ((lower * (second >> 4)) >> 16) + 2) >> 2).clamp(0, 255) as u8
    })
}

fn bicubic(image: &Pixels, across: &Taps<4>, down: &Taps<4>) -> Pixels {
    rows(image, across, down, |rows, weights| {
        let sum: i64 = rows
            .iter()
            .zip(weights)
            .map(|(&x, w)| i64::from(x) * i64::from(w))
            .sum();
        ((sum + (1 << (2 * BITS - 1))) >> (2 * BITS)).clamp(0, 255) as u8
    })
}
