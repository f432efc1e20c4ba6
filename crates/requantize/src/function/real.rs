//! Functions of real numbers, as exactly as a correct rounding needs them.

use super::exponential::exp;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::f64::consts::{FRAC_2_SQRT_PI, SQRT_2};

/// A function of one real number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Real {
    /// 1 / (1 + e^−x)
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// x / (1 + e^−x)
    Silu,
    /// x · tanh(ln(1 + e^x))
    Mish,
    /// x · (1 + erf(x / √2)) / 2
    Gelu,
    /// The error function.
    Erf,
    /// ln(1 + e^x)
    Softplus,
    /// e^x
    Exp,
}

/// A real number: an f64 that is exact, and a rest with a bound of its error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    main: f64,
    rest: f64,
    error: f64,
}

impl Value {
    fn exact(main: f64) -> Value {
        Value {
            main,
            rest: 0.0,
            error: 0.0,
        }
    }

    /// Rests have a relative error below 10^-14: products and quotients of a few numbers, each rounded once.
    fn new(main: f64, rest: f64) -> Value {
        Value {
            main,
            rest,
            error: rest.abs() * 2e-14,
        }
    }

    /// The nearest f64, or next to it.
    pub(super) fn nearest(&self) -> f64 {
        self.main + self.rest
    }

    /// Comparison with a number; `None` where the bound does not tell.
    pub(super) fn compare(&self, with: f64) -> Option<Ordering> {
        // main - with = high + low, exactly.
        let high = self.main - with;
        let part = self.main - high;
        let low = (part - with) + (self.main - (high + part));
        if self.error == 0.0 && self.rest == 0.0 {
            return high.partial_cmp(&-low);
        }
        let tail = low + self.rest;
        let total = high + tail;
        // Two additions, each of a relative error below 2^-52.
        let bound = self.error + (total.abs() + tail.abs()) * 2f64.powi(-51);
        (total.abs() > bound).then(|| total.total_cmp(&0.0))
    }
}

impl Real {
    /// The function at an f64, which counts as exact. The main part is 0, 1 or the operand, whichever is near for large ones.
    pub(super) fn at(self, x: f64) -> Value {
        let small = exp(-x.abs());
        let main = if x > 0.0 { x } else { 0.0 };
        match self {
            Real::Sigmoid if x == 0.0 => Value::exact(0.5),
            Real::Tanh | Real::Silu | Real::Mish | Real::Gelu | Real::Erf if x == 0.0 => Value::exact(0.0),
            Real::Exp if x == 0.0 => Value::exact(1.0),
            Real::Sigmoid => {
                let tail = small / (1.0 + small);
                if x > 0.0 {
                    Value::new(1.0, -tail)
                } else {
                    Value::new(0.0, tail)
                }
            }
            Real::Silu => Value::new(main, -x.abs() * small / (1.0 + small)),
            // With n = e^2x + 2e^x it is x·n / (n + 2) = x − 2x / (n + 2).
            Real::Mish if x > 0.0 => {
                // Not small², which may be zero.
                let square = exp(-2.0 * x);
                Value::new(x, -2.0 * x * square / (1.0 + 2.0 * small + 2.0 * square))
            }
            Real::Mish => {
                let n = small * (small + 2.0);
                Value::new(0.0, x * n / (n + 2.0))
            }
            Real::Softplus => Value::new(main, ln_of_one_plus(small)),
            Real::Exp => Value::new(0.0, exp(x)),
            // Odd functions: 1 − tail for positive numbers.
            Real::Tanh => odd(
                x,
                if x.abs() < 0.3 {
                    Err(tanh_near_zero(x))
                } else {
                    Ok(tail_of_tanh(x))
                },
            ),
            Real::Erf => odd(
                x,
                if x.abs() < 2.0 {
                    Err(erf_by_series(x))
                } else {
                    Ok(erfc(x.abs()))
                },
            ),
            Real::Gelu => {
                let z = x.abs() / SQRT_2;
                if z < 2.0 {
                    // The error is that of erf, of which the sum may cancel most.
                    let rest = x * (1.0 + erf_by_series(x / SQRT_2)) / 2.0;
                    Value {
                        main: 0.0,
                        rest,
                        error: x.abs() * 2e-14,
                    }
                } else {
                    Value::new(main, -x.abs() * erfc(z) / 2.0)
                }
            }
        }
    }
}

/// ±(1 − tail), or the value itself.
fn odd(x: f64, tail: Result<f64, f64>) -> Value {
    match tail {
        Ok(tail) => Value::new(1f64.copysign(x), -tail.copysign(x)),
        Err(value) => Value::new(0.0, value),
    }
}

/// 1 − tanh |x|
fn tail_of_tanh(x: f64) -> f64 {
    let square = exp(-2.0 * x.abs());
    2.0 * square / (1.0 + square)
}

/// sinh x / cosh x by their series, for |x| < 0.3.
fn tanh_near_zero(x: f64) -> f64 {
    let series = |first: u32| {
        let factors = (1..=8).rev().map(|k| f64::from((2 * k + first - 1) * (2 * k + first)));
        factors.fold(1.0, |sum, factor| 1.0 + sum * x * x / factor)
    };
    x * series(1) / series(0)
}

/// ln(1 + y) = 2·artanh(y / (2 + y)) for 0 ≤ y ≤ 1: z + z³/3 + …, z ≤ 1/3.
fn ln_of_one_plus(y: f64) -> f64 {
    let z = y / (2.0 + y);
    let series = (0..=18)
        .rev()
        .fold(0.0, |sum, k| 1.0 / f64::from(2 * k + 1) + sum * z * z);
    2.0 * z * series
}

/// erf x = 2/√π · e^(−x²) · (x + 2x³/3 + 4x⁵/15 + …) for |x| < 2: no term has another sign.
fn erf_by_series(x: f64) -> f64 {
    let series = (1..=60)
        .rev()
        .fold(1.0, |sum, k| 1.0 + sum * 2.0 * x * x / f64::from(2 * k + 1));
    FRAC_2_SQRT_PI * exp(-x * x) * x * series
}

/// 1 − erf x for x ≥ √2 by its continued fraction e^(−x²) / √π · 1 / (x + ½/(x + 1/(x + 3/2/(x + …)))).
fn erfc(x: f64) -> f64 {
    let fraction = (1..=120).rev().fold(x, |rest, k| x + f64::from(k) / 2.0 / rest);
    FRAC_2_SQRT_PI / 2.0 * exp(-x * x) / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_near_the_library() {
        for i in -9000..=9000 {
            let x = f64::from(i) / 1000.0;
            let sigmoid = 1.0 / (1.0 + (-x).exp());
            let softplus = x.max(0.0) + (-x.abs()).exp().ln_1p();
            for (function, expect) in [
                (Real::Sigmoid, sigmoid),
                (Real::Tanh, x.tanh()),
                (Real::Silu, x * sigmoid),
                (Real::Softplus, softplus),
                (Real::Mish, x * softplus.tanh()),
                (Real::Exp, x.exp()),
            ] {
                let value = function.at(x);
                assert!(
                    (value.nearest() - expect).abs() <= 1e-14 * expect.abs(),
                    "{function:?} {x}: {value:?}"
                );
            }
        }
    }

    #[test]
    fn the_error_function_is_that_of_tables() {
        // Abramowitz and Stegun, table 7.1, and erfc(3), erfc(5).
        for (x, erf) in [
            (0.5, 0.520_499_877_813_046_5_f64),
            (1.0, 0.842_700_792_949_714_9),
            (1.9, 0.992_790_429_235_257_5),
        ] {
            for x in [x, -x] {
                assert!((Real::Erf.at(x).nearest() - erf.copysign(x)).abs() < 2e-15, "{x}");
                let gelu = x * (1.0 + erf.copysign(x)) / 2.0;
                assert!(
                    (Real::Gelu.at(x * SQRT_2).nearest() - gelu * SQRT_2).abs() < 2e-15,
                    "{x}"
                );
            }
        }
        assert!((erfc(3.0) / 2.209_049_699_858_544e-5 - 1.0).abs() < 1e-13);
        assert!((erfc(5.0) / 1.537_459_794_428_035e-12 - 1.0).abs() < 1e-13);
        // Both ways meet.
        assert!((erfc(2.0) - (1.0 - erf_by_series(2.0))).abs() < 1e-15);
        assert!((erfc(SQRT_2) - (1.0 - erf_by_series(SQRT_2))).abs() < 1e-15);
    }

    #[test]
    fn comparisons_know_on_which_side_a_value_lies() {
        // 1 − e^−50 is no f64, and below 1.
        assert_eq!(Real::Sigmoid.at(50.0).compare(1.0), Some(Ordering::Less));
        assert_eq!(Real::Silu.at(600.0).compare(600.0), Some(Ordering::Less));
        assert_eq!(Real::Silu.at(-1e6).compare(0.0), Some(Ordering::Less));
        assert_eq!(Real::Sigmoid.at(0.0).compare(0.5), Some(Ordering::Equal));
        // 2^-60 beside a number: exact where there is no rest.
        assert_eq!(Value::exact(1.0).compare(1.0 - 2f64.powi(-53)), Some(Ordering::Greater));
        let one = Real::Tanh.at(1.0);
        assert_eq!(one.compare(one.nearest()), None);
    }
}
