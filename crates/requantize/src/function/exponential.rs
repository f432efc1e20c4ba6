//! Computes e^x and tanh x in `f64`, only with operations that IEEE 754 defines, so that the results are the same on
//! every machine. Some runtimes fill tables with e^x or tanh x from a C library. The definitions of these tables use
//! the functions of this module instead.

use std::f64::consts::{LN_2, LOG2_E};

/// Computes e^x with a relative error below 1e-15. With x = n·ln 2 + r for an integer n and |r| ≤ ½ ln 2, e^x is
/// 2^n·e^r. The Taylor series of e^r is used up to r^14.
pub(super) fn exp(x: f64) -> f64 {
    /// ln 2 = HIGH + LOW. The product n·HIGH is exact for |n| < 2^20.
    const HIGH: f64 = 6.931_471_803_691_238e-1;
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    const _: () = assert!(HIGH + LOW == LN_2);
    if x.is_nan() {
        return x;
    }
    // If x is beyond these limits, the result as an f32 is either zero or infinity.
    let x = x.clamp(-700.0, 700.0);
    let n = (x * LOG2_E).round_ties_even();
    let r = (x - n * HIGH) - n * LOW;
    let series = (1..=14).rev().fold(1.0, |sum, k| 1.0 + sum * r / f64::from(k));
    series * 2f64.powi(n as i32)
}

/// Computes tanh x as (1 − e^(−2|x|)) / (1 + e^(−2|x|)) with the sign of x. Near zero, the numerator would lose
/// precision, so the Taylor series x − x³/3 + 2x⁵/15 − 17x⁷/315 is used there.
pub(super) fn tanh(x: f64) -> f64 {
    if x.abs() < 0.02 {
        let square = x * x;
        return x * (1.0 + square * (-1.0 / 3.0 + square * (2.0 / 15.0 - square * (17.0 / 315.0))));
    }
    let small = exp(-2.0 * x.abs());
    ((1.0 - small) / (1.0 + small)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_near_the_library() {
        for i in -40_000..=40_000 {
            let x = f64::from(i) / 1000.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 2e-15, "{x}");
            let near = if x == 0.0 {
                tanh(x) == 0.0
            } else {
                (tanh(x) / x.tanh() - 1.0).abs() < 3e-14
            };
            assert!(near, "{x}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f64::INFINITY) as f32, f32::INFINITY);
        assert_eq!(exp(f64::NEG_INFINITY) as f32, 0.0);
        assert!(exp(f64::NAN).is_nan() && tanh(f64::NAN).is_nan());
        assert_eq!(tanh(-1e300), -1.0);
    }
}
