//! What the benchmarks share: the time of a run, and the multiply-adds that a processor does at most.

#![allow(unsafe_code, reason = "the peak is measured with intrinsics")]

use rayon::prelude::*;
use std::{hint::black_box, time::Instant};

/// The time that a run takes.
pub(crate) fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// The smallest number.
pub(crate) fn least(values: Vec<f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

/// The multiply-adds of f32 that all threads do in registers, in 10⁹ a second.
pub(crate) fn multiply_adds() -> f64 {
    const STEPS: usize = 100_000;
    let threads = rayon::current_num_threads();
    let time = seconds(|| {
        (0..threads).into_par_iter().for_each(|_| {
            black_box(chains(black_box(1.0)));
        });
    });
    return 1e-9 * (threads * STEPS * 24 * 16) as f64 / time;

    #[cfg(target_arch = "x86_64")]
    fn chains(x: f32) -> f32 {
        use std::arch::x86_64::*;
        // Each sum has a name of its own, so that it stays in a register.
        macro_rules! loops {
            ($steps:expr, $product:ident, $x:ident, $y:ident, $add:ident: $($sum:ident)*) => {{
                $(let mut $sum = $x;)*
                for _ in 0..$steps {
                    $($sum = $product($x, $y, $sum);)*
                }
                $(let $x = $add($x, $sum);)*
                $x
            }};
        }
        #[target_feature(enable = "avx512f")]
        fn wide(x: f32) -> f32 {
            let (x, y) = (_mm512_set1_ps(x), _mm512_set1_ps(0.5));
            _mm512_reduce_add_ps(loops!(2 * STEPS, _mm512_fmadd_ps, x, y, _mm512_add_ps: a b c d e f g h i j k l))
        }
        #[target_feature(enable = "avx2,fma")]
        fn narrow(x: f32) -> f32 {
            let (x, y) = (_mm256_set1_ps(x), _mm256_set1_ps(0.5));
            _mm256_cvtss_f32(loops!(4 * STEPS, _mm256_fmadd_ps, x, y, _mm256_add_ps: a b c d e f g h i j k l))
        }
        // SAFETY: the machine has the instructions.
        unsafe {
            match is_x86_feature_detected!("avx512f") {
                true => wide(x),
                false => narrow(x),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    fn chains(x: f32) -> f32 {
        let mut sums = [0.0; 24 * 16];
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = x.mul_add(0.5, *sum);
            }
        }
        sums.iter().sum()
    }
}
