//! Sums over many numbers in f64. Each sum is made of [`LANES`] partial sums, whatever the instruction set, so that it has
//! the same bits everywhere.

use crate::context::Context;
use crate::simd::{Job, Simd};

/// Number i is added to partial sum i modulo this.
const LANES: usize = 8;

/// Returns the sum of the squares of the numbers.
pub fn squares(cx: &Context, numbers: &[f32]) -> f64 {
    cx.run(Sum {
        numbers,
        of: |x: f64| x * x,
    })
}

/// Returns the sum of the squared errors from rounding numbers to the codes `first` to `last` of a grid: the sum of
/// (x − scale·(q − zero))², where q is x / scale + zero, saturated, then rounded to the nearest integer with ties away from
/// zero. The magnitudes of `first` and `last` have to be below 2^51.
pub fn squared_errors(cx: &Context, numbers: &[f32], (scale, zero): (f64, f64), [first, last]: [f64; 2]) -> f64 {
    cx.run(Sum {
        numbers,
        of: move |x: f64| {
            let code = half_away((x / scale + zero).clamp(first, last));
            let error = x - (code - zero) * scale;
            error * error
        },
    })
}

/// Rounds a number with a magnitude of less than 2^51 to the nearest integer, ties away from zero. Unlike `f64::round`, it
/// calls no function.
#[inline(always)]
fn half_away(v: f64) -> f64 {
    // The sum with this number is rounded to an integer, ties to even.
    const WHOLE: f64 = (1u64 << 52) as f64;
    let size = v.abs();
    let even = (size + WHOLE) - WHOLE;
    let away = if size - even == 0.5 { even + 1.0 } else { even };
    away.copysign(v)
}

struct Sum<'a, F> {
    numbers: &'a [f32],
    of: F,
}

impl<F: Fn(f64) -> f64> Job for Sum<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self) -> f64 {
        let mut sums = [0.0; LANES];
        let (rows, rest) = self.numbers.as_chunks::<LANES>();
        for row in rows {
            for lane in 0..LANES {
                sums[lane] += (self.of)(f64::from(row[lane]));
            }
        }
        for (sum, &x) in sums.iter_mut().zip(rest) {
            *sum += (self.of)(f64::from(x));
        }
        sums.into_iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;

    #[test]
    fn sums_have_the_same_bits_on_every_instruction_set() {
        let numbers: Vec<f32> = (0..1003).map(|i| ((i * 7919) % 1009) as f32 * 0.37 - 150.0).collect();
        for count in [0, 1, 7, 8, 9, 100, 1003] {
            let numbers = &numbers[..count];
            let both = |isa| {
                let cx = Context::with_isa(isa);
                let errors = squared_errors(&cx, numbers, (0.7, 3.0), [-128.0, 127.0]);
                [squares(&cx, numbers), errors]
            };
            let code = |x: f64| (x / 0.7 + 3.0).clamp(-128.0, 127.0).round();
            let error = |x: f64| (x - (code(x) - 3.0) * 0.7).powi(2);
            let sum = |of: &dyn Fn(f64) -> f64| numbers.iter().map(|&x| of(x.into())).sum::<f64>();
            let expected = [sum(&|x| x * x), sum(&error)];
            let first = both(Isa::Scalar);
            for (found, expected) in first.into_iter().zip(expected) {
                assert!((found - expected).abs() <= 1e-12 * expected, "{found} {expected}");
            }
            for isa in Isa::available() {
                assert_eq!(both(isa).map(f64::to_bits), first.map(f64::to_bits), "{count}");
            }
        }
    }

    #[test]
    fn rounding_away_is_that_of_the_standard_library() {
        for at in -4096..4096 {
            let v = f64::from(at) / 2.0;
            for v in [v.next_down(), v, v.next_up(), v * 1e11] {
                assert_eq!(half_away(v), v.round());
            }
        }
        assert!(half_away(f64::NAN).is_nan());
    }
}
