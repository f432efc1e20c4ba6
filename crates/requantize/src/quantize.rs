//! Conversions between floats and integers: `real = scale * (q - zero_point)`.
//!
//! To quantize a number, it is divided by the scale. The quotient is rounded to `f32` and then to an integer. The zero
//! point is added either to the integer, or in `f32` before the rounding to an integer. Infinities become the ends of
//! the range, and NaN becomes the code nearest to real zero. A caller that does not accept infinities and NaN has to
//! check for them first.

use crate::{IntType, Rounding, words::words};
use std::ops::RangeInclusive;

words! {
    /// The place where a quantization adds its zero point. If the zero point is odd, the place can change the result of
    /// ties.
    #[derive(Default)]
    ZeroPoint {
        /// `round(q) + z`, as in ONNX and LiteRT.
        #[default]
        After = "after",
        /// `round(q + z)`, with the sum rounded to `f32`, as in AscendQuant.
        InsideRounding = "inside_rounding",
    }
}

/// How a real number is scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// `x / scale`
    DividedBy(f32),
    /// `x * factor`
    Times(f32),
    /// `x * factor * factor`
    TimesTwice(f32),
}

/// The general quantization of real numbers: `sat(round(v + inside) + after)`, where `v` is the scaled number. Either
/// `inside` or `after` is the zero point, and the other one is zero. All quantizing functions can be expressed in this
/// form, and kernels implement it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantization {
    /// How `v` is computed from a real number. Every operation is rounded to `f32`.
    pub scaling: Scaling,
    /// The number that is added before the rounding, in `f32`.
    pub inside: f32,
    /// The number that is added after the rounding.
    pub after: i32,
    /// How the sum is rounded.
    pub rounding: Rounding,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl Quantization {
    /// A quantization that adds its zero point at the place `place`.
    pub fn new(
        scaling: Scaling,
        (zero_point, place): (i32, ZeroPoint),
        rounding: Rounding,
        out: IntType,
    ) -> Quantization {
        let (inside, after) = match place {
            ZeroPoint::After => (0.0, zero_point),
            ZeroPoint::InsideRounding => (zero_point as f32, 0),
        };
        Quantization {
            scaling,
            inside,
            after,
            rounding,
            out,
        }
    }

    /// The code of a real number.
    pub fn eval(&self, x: f32) -> i32 {
        let v = match self.scaling {
            Scaling::DividedBy(scale) => x / scale,
            Scaling::Times(factor) => x * factor,
            Scaling::TimesTwice(factor) => x * factor * factor,
        };
        narrow(v, self.inside, self.after, self.rounding, &self.out.range())
    }
}

/// `clamp(round(x / scale) + zero_point)` with a true division. This is QuantizeLinear of ONNX (with `half_even`) and
/// QUANTIZE of LiteRT (with `half_away`).
pub fn quantize(x: f32, scale: f32, zero_point: i32, rounding: Rounding, range: &RangeInclusive<i32>) -> i32 {
    narrow(x / scale, 0.0, zero_point, rounding, range)
}

/// Appends the codes of several numbers on one grid to `codes`: for each of them the result of [`quantize`].
pub fn quantize_each(
    values: &[f32],
    (scale, zero_point): (f32, i32),
    rounding: Rounding,
    range: &RangeInclusive<i32>,
    codes: &mut Vec<i64>,
) {
    // The ends of the range before the zero point is added.
    let ends = [*range.start(), *range.end()].map(|end| i64::from(end) - i64::from(zero_point));
    let near = -NEAR <= ends[0] && ends[0] <= ends[1] && ends[1] <= NEAR;
    let grid = (scale, zero_point, ends.map(|end| end as f32));
    match rounding {
        Rounding::HalfEven if near => codes.extend(values.iter().map(|&x| near_code(x, grid, half_even))),
        Rounding::HalfAway if near => codes.extend(values.iter().map(|&x| near_code(x, grid, half_away))),
        _ => {
            let code = |&x: &f32| i64::from(quantize(x, scale, zero_point, rounding, range));
            codes.extend(values.iter().map(code));
        }
    }
}

/// The code of a number, if the ends of the range, less the zero point, are at most [`NEAR`]. The compiler makes vectors of
/// this. Clamping to integers before the rounding gives the same as after it.
#[inline(always)]
fn near_code(x: f32, (scale, zero, [least, most]): (f32, i32, [f32; 2]), round: impl Fn(f32) -> f32) -> i64 {
    let v = x / scale;
    let v = if v.is_nan() { 0.0 } else { v };
    let v = if v < least { least } else { v };
    let v = if v > most { most } else { v };
    let whole = (round(v) + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits());
    i64::from(whole.cast_signed().wrapping_add(zero))
}

/// Up to this magnitude, the functions below round exactly, and every integer is an f32.
const NEAR: i64 = 1 << 22;

/// The sum of this number and one of at most [`NEAR`] is rounded to an integer, ties to even. The integer is then in the low
/// bits.
const WHOLE: f32 = (3u32 << 22) as f32;

/// Rounds a number of at most [`NEAR`] to the nearest integer, ties to even.
#[inline(always)]
fn half_even(v: f32) -> f32 {
    (v + WHOLE) - WHOLE
}

/// Rounds a number of at most [`NEAR`] to the nearest integer, ties away from zero.
#[inline(always)]
fn half_away(v: f32) -> f32 {
    let size = v.abs();
    let even = half_even(size);
    let away = if size - even == 0.5 { even + 1.0 } else { even };
    away.copysign(v)
}

/// `scale * (q - zero_point)` for a code or an accumulator. The difference is computed exactly, then converted to `f32`
/// and multiplied. The conversion and the product are rounded to `f32`.
pub fn dequantize(q: impl Into<i64>, scale: f32, zero_point: i32) -> f32 {
    let q = q.into();
    // Conversions of 128 bits are slow, and hardly ever needed.
    let difference = q.checked_sub(zero_point.into()).map(|difference| difference as f32);
    scale * difference.unwrap_or_else(|| (i128::from(q) - i128::from(zero_point)) as f32)
}

/// The general dequantization: `max(scale * (q - zero_point), 0)`, or the same without the `max` if `relu` is not set.
/// The difference is computed exactly, then converted to `f32` and multiplied. The conversion and the product are
/// rounded to `f32`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dequantization {
    /// The factor.
    pub scale: f32,
    /// The code of real zero.
    pub zero_point: i32,
    /// True if negative results become zero.
    pub relu: bool,
}

impl Dequantization {
    /// The real number of a code or an accumulator.
    pub fn eval(&self, q: impl Into<i64>) -> f32 {
        let real = dequantize(q, self.scale, self.zero_point);
        if self.relu { real.max(0.0) } else { real }
    }
}

/// `clamp(round(v + inside) + after)`.
fn narrow(v: f32, inside: f32, after: i32, rounding: Rounding, range: &RangeInclusive<i32>) -> i32 {
    let v = if v.is_nan() { 0.0 } else { v };
    // The conversion to i64 saturates.
    let whole = (rounding.round_f32(v + inside) as i64).saturating_add(i64::from(after));
    // `clamp` would panic here if the range is empty. The result lies between the ends of the range, which are i32.
    whole.min(i64::from(*range.end())).max(i64::from(*range.start())) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_factor(x: f32, factor: f32, zero_point: (i32, ZeroPoint)) -> i32 {
        Quantization::new(Scaling::Times(factor), zero_point, Rounding::HalfEven, IntType::I8).eval(x)
    }

    #[test]
    fn values_that_are_not_finite_take_the_ends_and_zero() {
        let range = IntType::I8.range();
        for (x, expect) in [
            (f32::INFINITY, 127),
            (f32::NEG_INFINITY, -128),
            (f32::NAN, 3),
            (1e38, 127),
            (-0.0, 3),
        ] {
            assert_eq!(quantize(x, 0.1, 3, Rounding::HalfEven, &range), expect, "{x}");
            assert_eq!(by_factor(x, 10.0, (3, ZeroPoint::After)), expect, "{x}");
        }
        assert_eq!(quantize(f32::NAN, 0.1, 300, Rounding::HalfEven, &range), 127);
    }

    #[test]
    fn several_numbers_have_the_codes_that_each_has() {
        let mut values = vec![
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            0.0,
            -0.0,
            f32::MAX,
            f32::MIN,
        ];
        for exponent in -3..40 {
            let power = 2f32.powi(exponent);
            for size in [power, power * 1.5, power + 0.5, power - 0.5, power * 0.999_999_9] {
                values.extend([size, -size]);
            }
        }
        values.extend((-5000..5000).map(|i| i as f32 * 0.125));
        for rounding in Rounding::ALL {
            for (scale, zero_point) in [(1.0, 0), (0.1, -7), (0.5, i32::MAX), (3.0, i32::MIN)] {
                for range in [IntType::I8.range(), IntType::I32.range(), -7..=7] {
                    let mut found = vec![5];
                    quantize_each(&values, (scale, zero_point), rounding, &range, &mut found);
                    let expect = values
                        .iter()
                        .map(|&x| i64::from(quantize(x, scale, zero_point, rounding, &range)));
                    assert_eq!(
                        found,
                        [5].into_iter().chain(expect).collect::<Vec<i64>>(),
                        "{rounding} {scale}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_zero_point_is_added_behind_the_rounding() {
        // 0.5 is rounded to the even 0, and then the odd zero point is added. rint(0.5 + 1) would be 2.
        assert_eq!(quantize(0.5, 1.0, 1, Rounding::HalfEven, &IntType::U8.range()), 1);
        assert_eq!(quantize(0.5, 1.0, 1, Rounding::HalfAway, &IntType::U8.range()), 2);
        let inside = |x, zero_point| by_factor(x, 1.0, (zero_point, ZeroPoint::InsideRounding));
        assert_eq!((inside(0.5, 1), inside(0.5, 2), inside(-0.5, 1)), (2, 2, 0));
        assert_eq!(
            (
                inside(f32::NAN, 3),
                inside(f32::INFINITY, 3),
                inside(f32::NEG_INFINITY, 3)
            ),
            (3, 127, -128)
        );
    }

    #[test]
    fn division_and_reciprocal_differ_near_ties() {
        let mut differing = 0;
        let out = IntType::I32;
        let reciprocal = Scaling::Times(1.0 / 0.01);
        let by_reciprocal = Quantization::new(reciprocal, (0, ZeroPoint::After), Rounding::HalfEven, out);
        for i in 0..100_000 {
            let x = i as f32 * 0.005;
            let divided = quantize(x, 0.01, 0, Rounding::HalfEven, &out.range());
            let multiplied = by_reciprocal.eval(x);
            assert!(divided.abs_diff(multiplied) <= 1);
            differing += i32::from(divided != multiplied);
        }
        assert!(differing > 0);
    }

    #[test]
    fn every_code_survives_the_way_to_float_and_back() {
        for t in [IntType::I8, IntType::U8, IntType::I16] {
            for zero_point in [t.min(), -1, 0, 5, t.max()] {
                for scale in [1.0, 0.007_843_138, 1e-7, 3.5e4] {
                    for q in t.range() {
                        let x = dequantize(q, scale, zero_point);
                        assert_eq!(quantize(x, scale, zero_point, Rounding::HalfEven, &t.range()), q);
                    }
                }
            }
        }
    }
}
