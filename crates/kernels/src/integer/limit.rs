//! Measures the limit of integer products: what a thread reaches if it only multiplies and adds.

#[cfg(target_arch = "x86_64")]
use super::by_bytes::{Factors, Groups, ROWS};
use crate::context::Context;
use crate::isa::Isa;
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
        match S::ISA {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => together(),
            Isa::Avx512 => tile::<S, 8, 3>(),
            _ => tile::<S, 2, 1>(),
        }
    }
}

/// The same as [`tile`], for weights with which all products can be added in 16 bits, two groups at a time.
#[cfg(target_arch = "x86_64")]
fn together() -> (usize, Duration) {
    let groups = Groups::new(&[[1; 64]; FOURS], |line| line, FOURS);
    let rows = black_box([[[1_u8; 4]; FOURS]; ROWS]);
    let mut sums = [[0; 8]; ROWS];
    let start = Instant::now();
    for _ in 0..REPEAT {
        let factors = Factors {
            rows: rows.as_ptr().cast(),
            pitch: 4 * FOURS,
            half: groups.half(0),
            starts: &[0; 8],
        };
        // SAFETY: this only runs on machines that have AVX2. The rows have all groups.
        unsafe { factors.multiply(&[0; ROWS], sums.as_flattened_mut(), 8) };
        black_box(&mut sums);
    }
    (REPEAT * FOURS * 4 * ROWS * 8, start.elapsed())
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
