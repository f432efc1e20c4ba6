//! Functions of real numbers. They are computed with enough precision for correct rounding.

use super::exponential::exp;
use super::value::{Value, product, sign};
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, SQRT_2};

/// A function of one real number. If it has a pole at 0, its value at 0 is infinite, with the sign that the function
/// has for small positive numbers. Where the function is not defined, its value counts as 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
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
    /// x / (1 + e^(−2u)) with u = √(2/π)·(x + 0.044715·x³)
    GeluTanh,
    /// The error function.
    Erf,
    /// ln(1 + e^x)
    Softplus,
    /// e^x
    Exp,
    /// x for x ≥ 0, α·(e^x − 1) for x < 0.
    Elu {
        /// The coefficient α.
        alpha: f32,
    },
    /// The natural logarithm.
    Log,
    /// The square root.
    Sqrt,
    /// 1 / x
    Reciprocal,
    /// x · min(max(x + 3, 0), 6) / 6
    HardSwish,
    /// min(max(α·x + β, 0), 1)
    HardSigmoid {
        /// The coefficient α.
        alpha: f32,
        /// The coefficient β.
        beta: f32,
    },
    /// x for x ≥ 0, α·x for x < 0.
    LeakyRelu {
        /// The coefficient α.
        alpha: f32,
    },
    /// min(max(x, low), high). The ends may be infinite.
    Clip {
        /// The lower end.
        low: f32,
        /// The upper end.
        high: f32,
    },
    /// −x
    Neg,
    /// |x|
    Abs,
    /// The largest integer that is not above x.
    Floor,
    /// The smallest integer that is not below x.
    Ceil,
    /// The nearest integer, ties to even.
    Round,
}

impl Real {
    /// The function's coefficients. They have to be finite.
    pub(super) fn coefficients(self) -> impl Iterator<Item = f32> {
        let (first, second) = match self {
            Real::HardSigmoid { alpha, beta } => (Some(alpha), Some(beta)),
            Real::Elu { alpha } | Real::LeakyRelu { alpha } => (Some(alpha), None),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The function's value at `x`. `x` has at most 41 bits and is taken as exact.
    pub(super) fn at(self, x: f64) -> Value {
        match self {
            Real::HardSwish if x <= -3.0 => Value::exact(0.0),
            Real::HardSwish if x >= 3.0 => Value::exact(x),
            Real::HardSwish => {
                let ((square, a), (thrice, b)) = (product(x, x), product(3.0, x));
                Value::Quotient {
                    terms: [square, a, thrice, b],
                    divisor: 6.0,
                }
            }
            Real::HardSigmoid { alpha, beta } => {
                let (high, low) = product(alpha.into(), x);
                let terms = [high, low, beta.into(), 0.0];
                let less = |end: f64| sign([high, low, beta.into(), -end, 0.0, 0.0]).is_lt();
                match (less(0.0), less(1.0)) {
                    (true, _) => Value::exact(0.0),
                    (_, true) => Value::sum(terms),
                    (_, false) => Value::exact(1.0),
                }
            }
            Real::LeakyRelu { alpha } if x < 0.0 => {
                let (high, low) = product(alpha.into(), x);
                Value::sum([high, low, 0.0, 0.0])
            }
            Real::LeakyRelu { .. } => Value::exact(x),
            Real::Clip { low, high } => Value::exact(x.max(low.into()).min(high.into())),
            Real::Neg => Value::exact(-x),
            Real::Abs => Value::exact(x.abs()),
            Real::Floor => Value::exact(x.floor()),
            Real::Ceil => Value::exact(x.ceil()),
            Real::Round => Value::exact(x.round_ties_even()),
            Real::Reciprocal if x == 0.0 => Value::exact(f64::INFINITY),
            Real::Reciprocal => Value::Quotient {
                terms: [x.signum(), 0.0, 0.0, 0.0],
                divisor: x.abs(),
            },
            Real::Sqrt | Real::Log if x < 0.0 => Value::exact(0.0),
            Real::Sqrt => Value::Root(x),
            _ => self.transcendent(x),
        }
    }

    /// Computes the value of a function that is neither a quotient nor a root, as the sum of a main part and a rest.
    /// The main part is 0, 1 or the operand, whichever the function approaches for operands far from 0.
    fn transcendent(self, x: f64) -> Value {
        let small = exp(-x.abs());
        let main = if x > 0.0 { x } else { 0.0 };
        match self {
            Real::Log if x == 0.0 => Value::exact(f64::NEG_INFINITY),
            Real::Log if x == 1.0 => Value::exact(0.0),
            Real::Sigmoid if x == 0.0 => Value::exact(0.5),
            Real::Exp if x == 0.0 => Value::exact(1.0),
            Real::Softplus => Value::near(main, ln_of_one_plus(small)),
            Real::Sigmoid => {
                let tail = small / (1.0 + small);
                if x > 0.0 {
                    Value::near(1.0, -tail)
                } else {
                    Value::near(0.0, tail)
                }
            }
            Real::Exp => Value::near(0.0, exp(x)),
            Real::Log => Value::near(0.0, ln(x)),
            // All other functions have the value 0 at 0.
            _ if x == 0.0 => Value::exact(0.0),
            Real::Silu => Value::near(main, -x.abs() * small / (1.0 + small)),
            // With n = e^2x + 2e^x, the function is x·n / (n + 2) = x − 2x / (n + 2).
            Real::Mish if x > 0.0 => {
                // Computing small² instead could underflow to zero.
                let square = exp(-2.0 * x);
                Value::near(x, -2.0 * x * square / (1.0 + 2.0 * small + 2.0 * square))
            }
            Real::Mish => {
                let n = small * (small + 2.0);
                Value::near(0.0, x * n / (n + 2.0))
            }
            Real::Elu { .. } if x > 0.0 => Value::exact(x),
            Real::Elu { alpha } if x > -0.5 => Value::near(0.0, f64::from(alpha) * exp_less_one(x)),
            Real::Elu { alpha } => Value::near(-f64::from(alpha), f64::from(alpha) * small),
            // These functions are odd. For positive operands their value is 1 − tail.
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
                    // The error of the sum is the error of erf. Adding 1 may cancel most of the value.
                    let rest = x * (1.0 + erf_by_series(x / SQRT_2)) / 2.0;
                    Value::Near {
                        main: 0.0,
                        rest,
                        error: x.abs() * 2e-14,
                    }
                } else {
                    Value::near(main, -x.abs() * erfc(z) / 2.0)
                }
            }
            Real::GeluTanh => {
                let size = x.abs();
                // FRAC_2_SQRT_PI / √2 = √(2/π). An absolute error of the exponent becomes a relative error of
                // e^exponent of the same size.
                let exponent = SQRT_2 * FRAC_2_SQRT_PI * (size + 0.044715 * size * size * size);
                let power = exp(-exponent);
                let rest = -size * power / (1.0 + power);
                Value::Near {
                    main,
                    rest,
                    error: rest.abs() * (2e-14 + 2e-15 * exponent.min(700.0)),
                }
            }
            // `at` handles the other functions.
            _ => Value::exact(0.0),
        }
    }
}

/// ±(1 − tail) with the sign of `x`. If `tail` is `Err`, it contains the value of the function itself.
fn odd(x: f64, tail: Result<f64, f64>) -> Value {
    match tail {
        Ok(tail) => Value::near(1f64.copysign(x), -tail.copysign(x)),
        Err(value) => Value::near(0.0, value),
    }
}

/// 1 − tanh |x|, without cancellation.
fn tail_of_tanh(x: f64) -> f64 {
    let square = exp(-2.0 * x.abs());
    2.0 * square / (1.0 + square)
}

/// sinh x / cosh x, both by their series, for |x| < 0.3.
fn tanh_near_zero(x: f64) -> f64 {
    let series = |first: u32| {
        let factors = (1..=8).rev().map(|k| f64::from((2 * k + first - 1) * (2 * k + first)));
        factors.fold(1.0, |sum, factor| 1.0 + sum * x * x / factor)
    };
    x * series(1) / series(0)
}

/// ln(1 + y) = 2·artanh(z) = 2·(z + z³/3 + …) with z = y / (2 + y), for 0 ≤ y ≤ 1, so that z ≤ 1/3.
fn ln_of_one_plus(y: f64) -> f64 {
    let z = y / (2.0 + y);
    let series = (0..=18)
        .rev()
        .fold(0.0, |sum, k| 1.0 / f64::from(2 * k + 1) + sum * z * z);
    2.0 * z * series
}

/// ln x = k·ln 2 + 2·artanh((m − 1) / (m + 1)) with x = m·2^k and m in (√½, √2]. Near 1, where k is 0, m − 1 is exact.
fn ln(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    let (bits, one) = (x.to_bits(), 1f64.to_bits());
    let (mut k, mut m) = ((bits >> 52) as i32 - 1023, f64::from_bits(bits & !EXPONENT | one));
    if m > SQRT_2 {
        (k, m) = (k + 1, m / 2.0);
    }
    let z = (m - 1.0) / (m + 1.0);
    let series = (0..=13)
        .rev()
        .fold(0.0, |sum, n| 1.0 / f64::from(2 * n + 1) + sum * z * z);
    f64::from(k) * LN_2 + 2.0 * z * series
}

/// e^x − 1 = x·(1 + x/2·(1 + x/3·(…))) for −½ < x < 0.
fn exp_less_one(x: f64) -> f64 {
    x * (2..=18).rev().fold(1.0, |sum, k| 1.0 + sum * x / f64::from(k))
}

/// erf x = 2/√π · e^(−x²) · (x + 2x³/3 + 4x⁵/15 + …) for |x| < 2. All terms have the same sign.
fn erf_by_series(x: f64) -> f64 {
    let series = (1..=60)
        .rev()
        .fold(1.0, |sum, k| 1.0 + sum * 2.0 * x * x / f64::from(2 * k + 1));
    FRAC_2_SQRT_PI * exp(-x * x) * x * series
}

/// 1 − erf x for x ≥ √2, by its continued fraction e^(−x²) / √π · 1 / (x + ½/(x + 1/(x + 3/2/(x + …)))).
fn erfc(x: f64) -> f64 {
    let fraction = (1..=120).rev().fold(x, |rest, k| x + f64::from(k) / 2.0 / rest);
    FRAC_2_SQRT_PI / 2.0 * exp(-x * x) / fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

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
                (Real::Elu { alpha: 0.75 }, if x > 0.0 { x } else { 0.75 * x.exp_m1() }),
                (Real::Log, if x > 0.0 { x.ln() } else { Real::Log.at(x).nearest() }),
            ] {
                let value = function.at(x);
                assert!(
                    value.nearest() == expect || (value.nearest() - expect).abs() <= 1e-14 * expect.abs(),
                    "{function:?} {x}: {value:?}"
                );
            }
            // The sum 1 + tanh cancels below 0, so only the absolute error of the library's result is small.
            let line = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            let gelu = Real::GeluTanh.at(x).nearest();
            assert!(
                (gelu - x / 2.0 * (1.0 + line.tanh())).abs() <= 1e-15 * x.abs(),
                "{x}: {gelu}"
            );
        }
        for exponent in -300..300 {
            let x = 2f64.powi(exponent) * (1.0 + f64::from(exponent + 300) / 600.0);
            assert!((Real::Log.at(x).nearest() / x.ln() - 1.0).abs() < 1e-14, "{x}");
        }
    }

    #[test]
    fn poles_are_infinite_and_what_is_not_there_is_zero() {
        let at = |function: Real, x: f64| function.at(x).nearest();
        assert_eq!(at(Real::Log, 0.0), f64::NEG_INFINITY);
        assert_eq!(at(Real::Reciprocal, 0.0), f64::INFINITY);
        assert_eq!(
            [at(Real::Log, -1.0), at(Real::Sqrt, -1.0), at(Real::Log, 1.0)],
            [0.0; 3]
        );
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
        // The series and the continued fraction agree where both can be used.
        assert!((erfc(2.0) - (1.0 - erf_by_series(2.0))).abs() < 1e-15);
        assert!((erfc(SQRT_2) - (1.0 - erf_by_series(SQRT_2))).abs() < 1e-15);
    }

    #[test]
    fn comparisons_know_on_which_side_a_value_lies() {
        // 1 − e^−50 is not an f64. It is below 1.
        assert_eq!(Real::Sigmoid.at(50.0).compare(1.0), Some(Ordering::Less));
        assert_eq!(Real::Silu.at(600.0).compare(600.0), Some(Ordering::Less));
        assert_eq!(Real::Silu.at(-1e6).compare(0.0), Some(Ordering::Less));
        assert_eq!(Real::Sigmoid.at(0.0).compare(0.5), Some(Ordering::Equal));
        let one = Real::Tanh.at(1.0);
        assert_eq!(one.compare(one.nearest()), None);
    }
}
