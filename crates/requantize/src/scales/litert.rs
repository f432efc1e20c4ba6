//! The rules by which LiteRT derives multipliers and shifts. LiteRT computes every multiplier from the `f32` scales in
//! the file, so a compiler cannot choose the multipliers freely.
//!
//! Source: `QuantizeMultiplier`, `PopulateConvolutionQuantizationParams`, `GetQuantizedConvolutionMultipler` and the
//! `Prepare` functions of ADD and MUL in LiteRT's kernels. The number of roundings of each op was measured with LiteRT
//! 2.3.0.

use super::{
    ScaleError, checked,
    fixed_point::{FixedPoint, frexp, ldexp},
    positive, positive_all, unzip,
};
use crate::{IntType, Narrowing, Per, Requantization, Rounding, Roundings, form};

/// Splits a factor into a 31-bit mantissa and an exponent: `mantissa * 2^(exponent - 31)`.
///
/// A factor below about 2^-32 becomes zero. A factor of at least 2^30 is refused, because its left shift would overflow
/// `i32`.
pub fn quantize_multiplier(factor: f64) -> Result<(i32, i8), ScaleError> {
    if factor == 0.0 {
        return Ok((0, 0));
    }
    let fixed = FixedPoint::nearest(factor, 31)?;
    match i8::try_from(fixed.exponent) {
        Ok(exponent @ -31..=30) => Ok((fixed.mantissa, exponent)),
        _ if fixed.exponent < 0 => Ok((0, 0)),
        _ => Err(ScaleError::TooLarge {
            factor,
            rule: "a left shift of at most 30",
        }),
    }
}

/// CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV: the requantization has two roundings, and its factor is computed in
/// `f64`. The same rule applies to four-bit weights. If the codes are unsigned, the weights have a single scale, and
/// the product of input scale and weight scale is rounded to `f32`.
pub fn convolution(
    input: f32,
    weights: &Per<f32>,
    output: f32,
    zp: i32,
    out: IntType,
) -> Result<Requantization, ScaleError> {
    match (out, weights) {
        (IntType::U8, &Per::Tensor(weights)) => matrix_product(input, weights, output, zp, out),
        _ => gemmlowp(&convolution_factor(input, weights, output)?, zp, out),
    }
}

/// The factor `input * weight / output` of a convolution, computed in `f64` from left to right.
fn convolution_factor(input: f32, weights: &Per<f32>, output: f32) -> Result<Per<f64>, ScaleError> {
    let (input, output) = (
        positive("input scale", input.into())?,
        positive("output scale", output.into())?,
    );
    weights.try_map(|w| Ok(input * positive("weight scale", f64::from(*w))? / output))
}

/// Turns a form into the one that a LiteRT built with TFLITE_SINGLE_ROUNDING computes: the multiplier and the exponent
/// are the same, but the result is rounded once. Forms other than `Gemmlowp` do not change.
pub fn single_rounding(form: Requantization) -> Requantization {
    match form {
        Requantization::Gemmlowp(form) => Requantization::Gemmlowp(form::Gemmlowp {
            roundings: Roundings::One,
            ..form
        }),
        other => other,
    }
}

/// CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV on int16 activations with a 64-bit bias. The factor is that of the
/// int8 convolution, and its multiplier is reduced to 16 bits when it is applied. A factor that needs a left shift of
/// more than 7 is refused. FULLY_CONNECTED on int16 uses another form ([`fully_connected_in_f64`]). If the file says
/// that the bias has 32 bits (`quantized_bias_type`), the sum has 32 bits as well, and the form is that of
/// [`convolution`].
pub fn sixteen_by_eight(
    input: f32,
    weights: &Per<f32>,
    output: f32,
    zp: i32,
    out: IntType,
) -> Result<Requantization, ScaleError> {
    sixteen_bits(&convolution_factor(input, weights, output)?, zp, out)
}

/// BATCH_MATMUL of int16 with int16 or int8. The multiplier is reduced to 16 bits, as in CONV_2D on int16. The factor
/// is computed as for BATCH_MATMUL on int8: the product of the operands' scales is rounded to `f32`.
pub fn wide_matrix_product(a: f32, b: f32, output: f32, zp: i32, out: IntType) -> Result<Requantization, ScaleError> {
    sixteen_bits(&Per::Tensor(matrix_factor(a, b, output)?), zp, out)
}

/// The form of [`sixteen_by_eight`] for a factor.
pub fn sixteen_bits(factor: &Per<f64>, zp: i32, out: IntType) -> Result<Requantization, ScaleError> {
    let (multiplier, exponent) = unzip(&factor.try_map(|f| quantize_multiplier(*f))?);
    checked(form::SixteenByEight {
        multiplier,
        exponent,
        zp,
        out,
    })
}

/// FULLY_CONNECTED with a multiplier: one rounding, ties away from zero, with the factor computed in `f64`.
///
/// LiteRT 2.3.0 does not use a multiplier for this op, but an `f64` factor ([`fully_connected_in_f64`]). Keeping only
/// 31 bits of the factor changes the product by less than `|result| * 2^-31`. So this form and LiteRT give different
/// results only for accumulators whose product is this close to a tie.
pub fn fully_connected(
    input: f32,
    weights: &Per<f32>,
    output: f32,
    zp: i32,
    out: IntType,
) -> Result<Requantization, ScaleError> {
    one_rounding(
        &convolution_factor(input, weights, output)?,
        zp,
        Rounding::HalfAway,
        out,
    )
}

/// FULLY_CONNECTED as LiteRT 2.3.0 computes it, for int8 and int16: `f64(acc) * factor`, rounded with ties away from
/// zero. The factor is computed in `f64`.
pub fn fully_connected_in_f64(
    input: f32,
    weights: &Per<f32>,
    output: f32,
    zp: i32,
    out: IntType,
) -> Result<Requantization, ScaleError> {
    product_in_f64(&convolution_factor(input, weights, output)?, zp, out)
}

/// The form of [`fully_connected_in_f64`] for any factors. A factor below 2^-129, or of at least 2^31, is refused.
pub fn product_in_f64(factor: &Per<f64>, zp: i32, out: IntType) -> Result<Requantization, ScaleError> {
    let parts = |factor: &f64| {
        let (fraction, exponent) = frexp(positive("factor", *factor)?);
        let exponent = i8::try_from(exponent)
            .ok()
            .filter(|e| form::Float64::EXPONENTS.contains(e));
        match exponent {
            // The fraction times 2^53 is a whole number of 53 bits.
            Some(exponent) => Ok((ldexp(fraction, 53) as i64, exponent)),
            None if *factor < 1.0 => Err(ScaleError::NotPositive {
                what: "factor",
                value: 0.0,
            }),
            None => Err(ScaleError::TooLarge {
                factor: *factor,
                rule: "an exponent of at most 31",
            }),
        }
    };
    let (multiplier, exponent) = unzip(&factor.try_map(parts)?);
    checked(form::Float64 {
        multiplier,
        exponent,
        zp,
        out,
    })
}

/// Makes a form with LiteRT's multiplier and a single rounding in any mode. A target's table may use it for fully
/// connected layers.
pub fn one_rounding(
    factor: &Per<f64>,
    zp: i32,
    rounding: Rounding,
    out: IntType,
) -> Result<Requantization, ScaleError> {
    // The exponent is -31 ..= 30, so the shift is 1 ..= 62.
    let parts = |factor: &f64| quantize_multiplier(*factor).map(|(sc, exponent)| (sc, (31 - exponent).unsigned_abs()));
    let (sc, shift) = unzip(&factor.try_map(parts)?);
    checked(form::TfLite {
        sc,
        zp,
        narrowing: Narrowing { shift, rounding, out },
    })
}

/// BATCH_MATMUL of two activations: two roundings. The product of their scales is rounded to `f32`.
pub fn matrix_product(a: f32, b: f32, output: f32, zp: i32, out: IntType) -> Result<Requantization, ScaleError> {
    gemmlowp(&Per::Tensor(matrix_factor(a, b, output)?), zp, out)
}

fn matrix_factor(a: f32, b: f32, output: f32) -> Result<f64, ScaleError> {
    positive_all(a, b, output)?;
    Ok(f64::from(a * b) / f64::from(output))
}

/// MEAN: the sum of `count` integers, with their zero points subtracted, is requantized with two roundings. To divide
/// by the count, LiteRT divides the multiplier by the count and truncates. There is one channel for each count.
pub fn mean(input: f32, count: &Per<u32>, output: f32, zp: i32, out: IntType) -> Result<Requantization, ScaleError> {
    let (input, output) = (
        positive("input scale", input.into())?,
        positive("output scale", output.into())?,
    );
    let (multiplier, exponent) = quantize_multiplier(input / output)?;
    let divided = count.try_map(|&count| {
        positive("number of elements", count.into())?;
        // The exponent of the largest power of two that is not above the count. It is limited so that the right shift
        // stays in its range.
        let bits = count.ilog2().min(31u32.saturating_add_signed(exponent.into()));
        // The product is below 2^63. After the division it is at most the multiplier, because 2^bits <= count.
        let multiplier = ((i64::from(multiplier) << bits) / i64::from(count)) as i32;
        Ok::<_, ScaleError>((multiplier, exponent - bits as i8))
    })?;
    two_roundings(&divided, zp, out)
}

/// MUL: the product of the operands' integers, with their zero points subtracted, is requantized with two roundings.
/// The factor is computed in `f32`.
pub fn multiplication(a: f32, b: f32, output: f32, zp: i32, out: IntType) -> Result<Requantization, ScaleError> {
    positive_all(a, b, output)?;
    gemmlowp(&Per::Tensor(f64::from(a * b / output)), zp, out)
}

/// The three requantizations of an ADD or a SUB.
#[derive(Clone, Debug, PartialEq)]
pub struct Addition {
    /// The number of bits by which an operand of ADD and SUB is shifted left, after its zero point was subtracted and
    /// before it is requantized.
    pub left_shift: u8,
    /// The requantizations of the operands to the common grid, in `i32` with a zero point of zero.
    pub operands: [Requantization; 2],
    /// The requantization of the sum or difference to the output.
    pub output: Requantization,
}

/// ADD and SUB: both operands are requantized to a common grid and added there. The scale of the common grid is twice
/// the larger of the operands' scales, divided by 2^20 (or by 2^15 if the output has 16 bits). Every requantization has
/// two roundings.
pub fn addition(a: f32, b: f32, output: f32, zp: i32, out: IntType) -> Result<Addition, ScaleError> {
    let left_shift = if out.bits() > 8 { 15 } else { 20 };
    let (a, b) = (positive("first scale", a.into())?, positive("second scale", b.into())?);
    // Twice an f32 and 2^20 times an f32 are exact, so it does not matter in which type these products are computed.
    let twice_larger = 2.0 * a.max(b);
    let grid = f64::from(1u32 << left_shift) * positive("output scale", output.into())?;
    let operand = |scale: f64| gemmlowp(&Per::Tensor(scale / twice_larger), 0, IntType::I32);
    Ok(Addition {
        left_shift,
        operands: [operand(a)?, operand(b)?],
        output: gemmlowp(&Per::Tensor(twice_larger / grid), zp, out)?,
    })
}

/// The form of LiteRT's int8 ops for a factor, by `QuantizeMultiplier`.
pub fn gemmlowp(factor: &Per<f64>, zp: i32, out: IntType) -> Result<Requantization, ScaleError> {
    two_roundings(&factor.try_map(|f| quantize_multiplier(*f))?, zp, out)
}

/// The form with these multipliers and exponents.
fn two_roundings(parts: &Per<(i32, i8)>, zp: i32, out: IntType) -> Result<Requantization, ScaleError> {
    let (multiplier, exponent) = unzip(parts);
    checked(form::Gemmlowp {
        multiplier,
        exponent,
        zp,
        roundings: Roundings::Two,
        out,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_are_normalised_flushed_or_refused() {
        for (factor, expect) in [
            (0.0, (0, 0)),
            (0.5, (1 << 30, 0)),
            (1.0, (1 << 30, 1)),
            (1.5, (0x6000_0000, 1)),
            (0.1, (1_717_986_918, -3)), // 0.8 * 2^31 = 1717986918.4
            (2f64.powi(-32), (1 << 30, -31)),
            (2f64.powi(-33), (0, 0)),
            (1e-300, (0, 0)),
            (2f64.powi(29), (1 << 30, 30)),
        ] {
            assert_eq!(quantize_multiplier(factor), Ok(expect), "{factor}");
        }
        for factor in [2f64.powi(30), 1e300, -1.0, f64::NAN, f64::INFINITY] {
            assert!(quantize_multiplier(factor).is_err(), "{factor}");
        }
    }

    #[test]
    fn the_types_of_the_product_show_in_the_multiplier() {
        // f32 cannot hold the product of these scales. Layers with weights use the exact product, whereas other ops
        // round it to f32 first.
        let (x, w, y) = (0.023_529_412_f32, 0.003_017_394, 0.047_058_823);
        let wide = f64::from(x) * f64::from(w) / f64::from(y);
        let product_rounded = f64::from(x * w) / f64::from(y);
        let all_rounded = f64::from(x * w / y);
        let [a, b, c] = [wide, product_rounded, all_rounded].map(|f| quantize_multiplier(f).unwrap());
        assert!(a != b && b != c && a != c, "{a:?} {b:?} {c:?}");

        let per_channel: Per<f32> = [w].into_iter().collect();
        let gemmlowp = |form| match form {
            Ok(Requantization::Gemmlowp(form::Gemmlowp {
                multiplier, exponent, ..
            })) => (*multiplier.get(0).unwrap(), *exponent.get(0).unwrap()),
            other => panic!("{other:?}"),
        };
        let tf_lite = |form| match form {
            Ok(Requantization::TfLite(form::TfLite { sc, narrowing, .. })) => {
                assert_eq!(narrowing.rounding, Rounding::HalfAway);
                (*sc.get(0).unwrap(), 31 - *narrowing.shift.get(0).unwrap() as i8)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(gemmlowp(convolution(x, &w.into(), y, 0, IntType::I8)), a);
        assert_eq!(gemmlowp(convolution(x, &per_channel, y, 0, IntType::I8)), a);
        assert_eq!(tf_lite(fully_connected(x, &per_channel, y, 0, IntType::I8)), a);
        assert_eq!(tf_lite(fully_connected(x, &w.into(), y, 0, IntType::I8)), a);
        assert_eq!(gemmlowp(matrix_product(x, w, y, 0, IntType::I8)), b);
        assert_eq!(gemmlowp(multiplication(x, w, y, 0, IntType::I8)), c);
    }

    #[test]
    fn int16_activations_keep_sixteen_bits_of_the_multiplier() {
        // 0.8 * 2^31 = 1717986918.4, of which the upper half is 26214.4.
        let form = sixteen_by_eight(0.1, &1.0.into(), 1.0, 0, IntType::I16).unwrap();
        let Requantization::SixteenByEight(form::SixteenByEight {
            multiplier, exponent, ..
        }) = &form
        else {
            panic!()
        };
        assert_eq!(
            (multiplier, exponent),
            (
                &Per::Tensor(quantize_multiplier(f64::from(0.1f32)).unwrap().0),
                &Per::Tensor(-3)
            )
        );
        for x in [-(1i64 << 34), -5, 0, 5, 12_345, 1 << 33] {
            let expect = ((i128::from(x) * 26_214 + (1 << 17)) >> 18).clamp(-32_768, 32_767);
            assert_eq!(form.eval(0, x).map(i128::from), Ok(expect), "{x}");
        }
        assert!(sixteen_by_eight(127.0, &1.0.into(), 1.0, 0, IntType::I16).is_ok());
        assert!(matches!(
            sixteen_by_eight(128.0, &1.0.into(), 1.0, 0, IntType::I16),
            Err(ScaleError::Form(crate::FormError::Range {
                field: "exponent",
                value: 8,
                ..
            }))
        ));
    }

    #[test]
    fn a_build_with_single_rounding_differs_at_double_ties_only() {
        let twice = convolution(0.02, &0.003.into(), 0.1, -5, IntType::I8).unwrap();
        let once = single_rounding(twice.clone());
        let differing = (-300_000..300_000)
            .filter(|x| twice.eval(0, *x) != once.eval(0, *x))
            .count();
        assert!(differing < 300, "{differing}");
        assert_ne!(twice, once);
    }

    #[test]
    fn a_mean_truncates_its_multiplier() {
        let parts = |count: u32| match mean(0.3, &count.into(), 0.2, 0, IntType::I8) {
            Ok(Requantization::Gemmlowp(form)) => (*form.multiplier.get(0).unwrap(), *form.exponent.get(0).unwrap()),
            other => panic!("{other:?}"),
        };
        let (whole, exponent) = quantize_multiplier(f64::from(0.3f32) / f64::from(0.2f32)).unwrap();
        assert_eq!(parts(1), (whole, exponent));
        assert_eq!(parts(2), (whole, exponent - 1));
        // For three elements, the multiplier is 2/3 of `whole`, truncated. Rounding to the nearest would give another
        // multiplier.
        assert_eq!(parts(3), ((i64::from(whole) * 2 / 3) as i32, exponent - 1));
        assert_eq!(parts(49), ((i64::from(whole) * 32 / 49) as i32, exponent - 5));
        // If the right shift cannot become larger, the multiplier loses bits instead.
        let tiny = mean(2f32.powi(-31), &8.into(), 1.0, 0, IntType::I8).unwrap();
        let Requantization::Gemmlowp(tiny) = tiny else { panic!() };
        assert_eq!((tiny.multiplier, tiny.exponent), ((1 << 28).into(), (-31).into()));
        let counts: Per<u32> = [9, 4].into_iter().collect();
        let Ok(Requantization::Gemmlowp(both)) = mean(0.3, &counts, 0.2, 0, IntType::I8) else {
            panic!()
        };
        for (channel, &count) in counts.values().iter().enumerate() {
            let part = (both.multiplier.values()[channel], both.exponent.values()[channel]);
            assert_eq!(part, parts(count));
        }
        assert!(mean(0.3, &0.into(), 0.2, 0, IntType::I8).is_err());
    }

    #[test]
    fn an_addition_is_the_rounded_sum() {
        let (a, b, y) = (0.1f32, 0.25, 0.3);
        // The operands have 20 more bits, so their roundings only matter near ties.
        let add = addition(a, b, y, -7, IntType::I8).unwrap();
        assert_eq!(add.left_shift, 20);
        for p in -255i64..=255 {
            for q in (-255i64..=255).step_by(3) {
                let [p_wide, q_wide] = [(&add.operands[0], p), (&add.operands[1], q)]
                    .map(|(form, x)| i64::from(form.eval(0, x << add.left_shift).unwrap()));
                let sum = add.output.eval(0, p_wide + q_wide).unwrap();
                let real = (f64::from(a) * p as f64 + f64::from(b) * q as f64) / f64::from(y) - 7.0;
                assert!((f64::from(sum) - real.clamp(-128.0, 127.0)).abs() < 0.5001);
            }
        }
    }

    #[test]
    fn scales_that_are_no_scales_are_named() {
        let error = |what| Err(ScaleError::NotPositive { what, value: 0.0 });
        assert_eq!(convolution(0.0, &1.0.into(), 1.0, 0, IntType::I8), error("input scale"));
        assert_eq!(
            convolution(1.0, &0.0.into(), 1.0, 0, IntType::I8),
            error("weight scale")
        );
        assert_eq!(
            fully_connected(1.0, &1.0.into(), 0.0, 0, IntType::I8),
            error("output scale")
        );
        assert!(addition(f32::NAN, 1.0, 1.0, 0, IntType::I8).is_err());
        assert!(matches!(
            multiplication(1e20, 1e20, 1e-20, 0, IntType::I8),
            Err(ScaleError::NotPositive { .. })
        ));
    }

    #[test]
    fn a_convolution_on_codes_without_a_sign_rounds_the_product_of_scales() {
        // For this accumulator, LiteRT's CONV_2D computes 59 on uint8. On int8 it rounds up, so the next code is
        // expected. For int8 the test needs another zero point: 100 instead of 207.
        let [x, w, y] = [0.225_926_28, 4.917_998_5e-6, 7.436_259_3];
        let made = |zp, out| convolution(x, &w.into(), y, zp, out).unwrap().eval(0, -987_168_754);
        assert_eq!(made(207, IntType::U8), Ok(59));
        assert_eq!(made(100, IntType::I8), Ok(60 - 207 + 100));
    }
}
