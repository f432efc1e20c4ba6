//! Resampling as Pillow does it for levels of 8 bits.
//!
//! ```text
//! f    source pixels for one pixel of the result      s = max(f, 1)      S is the support of the filter
//! c    (x + ½) · f, the centre of pixel x of the result, in source pixels
//! i    the source pixels from ⌊c − S·s + ½⌋ up to, but without, ⌊c + S·s + ½⌋; both bounds are moved into the image
//! w_i  filter((i − c + ½) / s), divided by their sum, in f64
//! k_i  w_i · 2²² rounded half away from zero
//! y    clamp((Σ k_i · x_i + 2²¹) >> 22, 0, 255), where x_i is the level of source pixel i
//! ```
//!
//! Rows are resampled first, then the columns of the resulting levels. A direction whose size does not change is
//! skipped. Since version 13, columns come first if the height loses more than twice as many pixels as the width.
//! Filters have a support of ½ (box), 1 (bilinear, hamming), 2 (bicubic, a = −½) and 3 (lanczos).

use std::f64::consts::PI;

use super::pick;
use crate::Pixels;
use crate::like::Filter;

/// Number of fractional bits of a weight.
const BITS: u32 = 22;

/// The weights for one direction. For each pixel of the result, there are the position of the first source pixel and
/// `taps` weights, for this source pixel and those after it. Weights that are not needed are 0.
struct Weights {
    begins: Vec<usize>,
    counts: Vec<usize>,
    taps: usize,
    weights: Vec<i32>,
}

pub(super) fn resize(image: &Pixels, [width, height]: [usize; 2], filter: Filter) -> Pixels {
    let kernel: (f64, fn(f64) -> f64) = match filter {
        Filter::Box => (0.5, |x| f64::from(u8::from(x > -0.5 && x <= 0.5))),
        Filter::Bilinear => (1.0, |x| (1.0 - x.abs()).max(0.0)),
        Filter::Hamming => (1.0, hamming),
        Filter::Bicubic => (2.0, bicubic),
        Filter::Lanczos => (3.0, lanczos),
        Filter::Nearest | Filter::Area => {
            return pick(image, &nearest(image.width, width), &nearest(image.height, height));
        }
    };
    let across = (width != image.width).then(|| Weights::new(image.width, width, kernel));
    let down = (height != image.height).then(|| Weights::new(image.height, height, kernel));
    let lost = |from: usize, to: usize| from.saturating_sub(to);
    let columns_first = lost(image.height, height) > 2 * lost(image.width, width);
    match (across, down) {
        (Some(across), Some(down)) if columns_first => rows(&columns(image, &down), &across),
        (Some(across), Some(down)) => columns(&rows(image, &across), &down),
        (Some(across), None) => rows(image, &across),
        (None, Some(down)) => columns(image, &down),
        (None, None) => image.clone(),
    }
}

impl Weights {
    fn new(from: usize, to: usize, (support, kernel): (f64, fn(f64) -> f64)) -> Weights {
        let factor = from as f64 / to as f64;
        let scale = factor.max(1.0);
        let (support, inverse) = (support * scale, 1.0 / scale);
        let mut found: Vec<Vec<i32>> = Vec::with_capacity(to);
        let mut begins = Vec::with_capacity(to);
        for x in 0..to {
            let centre = (x as f64 + 0.5) * factor;
            // The cast truncates. A negative number becomes 0.
            let begin = ((centre - support + 0.5) as usize).min(from - 1);
            let end = ((centre + support + 0.5) as usize).clamp(begin + 1, from);
            let weights: Vec<f64> = (begin..end)
                .map(|i| kernel((i as f64 - centre + 0.5) * inverse))
                .collect();
            let mut sum = 0.0;
            weights.iter().for_each(|weight| sum += weight);
            let fixed = |weight: &f64| {
                let weight = if sum == 0.0 { *weight } else { weight / sum } * f64::from(1u32 << BITS);
                (weight + f64::copysign(0.5, weight)) as i32
            };
            found.push(weights.iter().map(fixed).collect());
            begins.push(begin);
        }
        let taps = found.iter().map(Vec::len).max().unwrap_or(1);
        let counts = found.iter().map(Vec::len).collect();
        let mut weights = vec![0; taps * to];
        for (all, found) in weights.chunks_exact_mut(taps).zip(found) {
            all[..found.len()].copy_from_slice(&found);
        }
        Weights {
            begins,
            counts,
            taps,
            weights,
        }
    }

    fn of(&self, position: usize) -> (usize, &[i32]) {
        let weights = &self.weights[position * self.taps..];
        (self.begins[position], &weights[..self.counts[position]])
    }
}

fn level(sum: i32) -> u8 {
    (sum >> BITS).clamp(0, 255) as u8
}

fn rows(image: &Pixels, weights: &Weights) -> Pixels {
    match image.channels {
        1 => rows_of::<1>(image, weights),
        _ => rows_of::<3>(image, weights),
    }
}

fn rows_of<const C: usize>(image: &Pixels, weights: &Weights) -> Pixels {
    let width = weights.begins.len();
    let mut levels = vec![0; width * image.height * C];
    let sources = image.levels.chunks_exact(image.row());
    for (out, source) in levels.chunks_exact_mut(width * C).zip(sources) {
        let (source, _) = source.as_chunks::<C>();
        let (out, _) = out.as_chunks_mut::<C>();
        for (x, out) in out.iter_mut().enumerate() {
            let (begin, weights) = weights.of(x);
            let mut sums = [1 << (BITS - 1); C];
            for (weight, pixel) in weights.iter().zip(&source[begin..]) {
                for (sum, &level) in sums.iter_mut().zip(pixel) {
                    *sum += weight * i32::from(level);
                }
            }
            *out = sums.map(level);
        }
    }
    Pixels {
        width,
        height: image.height,
        channels: C,
        levels,
    }
}

fn columns(image: &Pixels, weights: &Weights) -> Pixels {
    let (height, row) = (weights.begins.len(), image.row());
    let mut levels = vec![0; height * row];
    let mut sums = vec![0i32; row];
    for (y, out) in levels.chunks_exact_mut(row).enumerate() {
        let (begin, weights) = weights.of(y);
        sums.fill(1 << (BITS - 1));
        for (weight, source) in weights.iter().zip(image.levels[begin * row..].chunks_exact(row)) {
            for (sum, &level) in sums.iter_mut().zip(source) {
                *sum += weight * i32::from(level);
            }
        }
        for (out, &sum) in out.iter_mut().zip(&sums) {
            *out = level(sum);
        }
    }
    Pixels {
        height,
        levels,
        ..*image
    }
}

/// Returns the source pixel for each pixel x of the result: ⌊½·f + x·f⌋, with f source pixels for one pixel of the
/// result. As in Pillow, the sum is computed by adding f repeatedly.
fn nearest(from: usize, to: usize) -> Vec<usize> {
    let factor = from as f64 / to as f64;
    let mut place = factor * 0.5;
    let next = |_| {
        let found = (place as usize).min(from - 1);
        place += factor;
        found
    };
    (0..to).map(next).collect()
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { libm::sin(x * PI) / (x * PI) }
}

fn hamming(x: f64) -> f64 {
    match x.abs() {
        x if x >= 1.0 => 0.0,
        x => sinc(x) * (0.54 + 0.46 * libm::cos(x * PI)),
    }
}

fn bicubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    match x.abs() {
        x if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
        x if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * A,
        _ => 0.0,
    }
}

fn lanczos(x: f64) -> f64 {
    if (-3.0..3.0).contains(&x) {
        sinc(x) * sinc(x / 3.0)
    } else {
        0.0
    }
}
