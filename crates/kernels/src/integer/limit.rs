//! Measures the limit of integer products: what a thread reaches if it only multiplies and adds.

use crate::context::Context;
use crate::simd::{Dots, Job, Simd};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Groups of four bytes along K. All operands together stay in the first-level cache.
const FOURS: usize = 64;
/// How often the operands are multiplied in one measurement, and how many measurements there are.
const REPEAT: usize = 2_000;
const MEASUREMENTS: usize = 10;

/// Returns how many multiply-adds of bytes one thread can compute in a second, with operands in the first-level cache
/// and accumulators in registers. No integer convolution or matrix product is faster. The measurement takes a few
/// milliseconds.
pub fn multiply_adds_per_second(cx: &Context) -> f64 {
    let best = (0..MEASUREMENTS).map(|_| cx.run(Limit)).min_by(|a, b| a.1.cmp(&b.1));
    best.map_or(0.0, |(steps, time)| {
        steps as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE)
    })
}

/// A job that multiplies as fast as it can. It returns the number of multiply-adds and the time.
struct Limit;

impl Job for Limit {
    type Output = (usize, Duration);

    #[inline(always)]
    fn run<S: Simd>(self) -> (usize, Duration) {
        match S::Dots::WIDE {
            true => tile::<S, 8, 3>(),
            false => tile::<S, 2, 1>(),
        }
    }
}

#[inline(always)]
fn tile<S: Simd, const HEIGHT: usize, const WIDTH: usize>() -> (usize, Duration) {
    let panels = black_box([[[1_u8; 64]; WIDTH]; FOURS]);
    let rows = black_box([[[1_u8; 4]; HEIGHT]; FOURS]);
    let start = Instant::now();
    // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`.
    let mut sums = unsafe { [[S::Dots::new(0, &[0; 16]); WIDTH]; HEIGHT] };
    for _ in 0..REPEAT {
        for (panel, row) in panels.iter().zip(&rows) {
            for r in 0..HEIGHT {
                for p in 0..WIDTH {
                    // SAFETY: as above, the machine has the instruction set `S`.
                    sums[r][p] = unsafe { sums[r][p].add_dots::<false>(&panel[p], row[r]) };
                }
            }
        }
    }
    black_box(sums.map(|row| row.map(Dots::to_array)));
    (REPEAT * FOURS * HEIGHT * WIDTH * 64, start.elapsed())
}
