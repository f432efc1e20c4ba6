//! The rules by which SiMa derives shifts and multipliers. A factor is split into a power of two, which the chip
//! applies as a shift, and a correction in (0.5, 1]. The correction is folded into the weights, or is a multiplier with
//! few bits.

use super::{
    ScaleError, checked,
    fixed_point::{frexp, ldexp},
    positive, unzip,
};
use crate::{IntType, Narrowing, Per, Requantization, Rounding, form, form::MAX_SHIFT};

/// The right shifts that a folded factor may use.
pub const FOLDED_SHIFTS: std::ops::RangeInclusive<u8> = 0..=31;

/// A linear map from one grid to another: `output = (input * factor + offset) * 2^-shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// The factor, in (0.5, 1]. It is 1 if the ratio of the scales is a power of two.
    pub factor: f64,
    /// The number that comes from the zero points. It is added before the shift.
    pub offset: f64,
    /// The shift. If it is positive, it is to the right.
    pub shift: i32,
}

/// The largest number of fractional bits of a correction. A correction of 1 is stored as 2^bits, which has to fit into
/// i32.
const MOST_BITS: u8 = 30;

impl Correction {
    /// Computes the factor, the offset and the shift n that map one grid to another: a code x of the input becomes
    /// (x * factor + offset) / 2^n. With R = input scale / output scale, n = -ceil(log2 R), factor = R * 2^n and
    /// offset = (output zero - input zero * R) * 2^n, where `zero` stands for a zero point.
    ///
    /// The logarithm is exact, because it is taken from the exponent of R. R itself is rounded to `f64`.
    pub fn between((input, input_zero): (f64, i32), (output, output_zero): (f64, i32)) -> Result<Self, ScaleError> {
        let ratio = positive(
            "ratio of scales",
            positive("input scale", input)? / positive("output scale", output)?,
        )?;
        // ratio = fraction * 2^exponent with the fraction in [0.5, 1). If the fraction is exactly 0.5, it is replaced
        // by 1, and the exponent is one less.
        let (factor, shift) = match frexp(ratio) {
            (0.5, exponent) => (1.0, 1 - exponent),
            (fraction, exponent) => (fraction, -exponent),
        };
        let offset = ldexp(f64::from(output_zero) - f64::from(input_zero) * ratio, shift);
        Ok(Correction { factor, offset, shift })
    }

    /// Rounds the factor and the offset to `bits` fractional bits, ties to even, and returns them as integers with the
    /// shift that belongs to them. If the ratio is so small that the shift would exceed [`MAX_SHIFT`], the shift is
    /// [`MAX_SHIFT`] and the factor has fewer bits, or is 0.
    fn integers(&self, bits: u8) -> Result<(i32, i64, u8), ScaleError> {
        if !(1..=MOST_BITS).contains(&bits) {
            return Err(ScaleError::Bits { bits, most: MOST_BITS });
        }
        let shift = (self.shift + i32::from(bits)).min(MAX_SHIFT.into());
        let whole = |x: f64| Rounding::HalfEven.round_f64(ldexp(x, shift - self.shift));
        let too_large = ScaleError::TooLarge {
            factor: ldexp(self.factor, -self.shift),
            rule: "a correction without a left shift",
        };
        // The factor is at most 2^30. The offset saturates, and a form with such an addend is refused.
        Ok((
            whole(self.factor) as i32,
            whole(self.offset) as i64,
            u8::try_from(shift).map_err(|_| too_large)?,
        ))
    }
}

/// The form `FractionalZero`, `sat(round((x * sc + zp) / 2^s))`, with `bits` fractional bits for the correction.
pub fn fractional_zero(
    corrections: &Per<Correction>,
    bits: u8,
    rounding: Rounding,
    out: IntType,
) -> Result<Requantization, ScaleError> {
    let integers = corrections.try_map(|c| c.integers(bits))?;
    let (sc, rest) = unzip(&integers.map(|(sc, zp, shift)| (*sc, (*zp, *shift))));
    let (zp, shift) = unzip(&rest);
    checked(form::FractionalZero {
        sc,
        zp,
        narrowing: Narrowing { shift, rounding, out },
    })
}

/// Finds the largest shift with which weights can be quantized so that the requantization is only a shift. This is the
/// largest n in [`FOLDED_SHIFTS`] for which the weight scale `output / input * 2^-n` is at least `least`. Returns n and
/// this weight scale. `least` is the smallest weight scale with which all weights fit into the codes, for example
/// `max|w| / 127`.
///
/// The comparison is computed as `output >= least * input * 2^n`. It is exact, because `f64` holds the product of two
/// `f32`. The weight scale is rounded to `f64` once. If there is no such shift, the output's grid is too fine, and the
/// error says by which factor it is too fine.
pub fn folded_shift(input: f32, least: f32, output: f32) -> Result<(u8, f64), ScaleError> {
    let (x, w, y) = (
        positive("input scale", input.into())?,
        positive("weight scale", least.into())?,
        positive("output scale", output.into())?,
    );
    let largest = FOLDED_SHIFTS.rev().find(|n| y >= ldexp(x * w, i32::from(*n)));
    let shift = largest.ok_or(ScaleError::TooLarge {
        factor: x * w / y,
        rule: "a right shift",
    })?;
    Ok((shift, ldexp(y / x, -i32::from(shift))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FormKind;
    use crate::decide::{Limits, Wanted, weaken};
    use proptest::prelude::*;

    #[test]
    fn a_power_of_two_has_the_correction_one() {
        for (input, output, shift) in [
            (1.0, 1.0, 0),
            (1.0, 8.0, 3),
            (0.5, 0.125, -2),
            (2f64.powi(-40), 1.0, 40),
        ] {
            let c = Correction::between((input, 0), (output, 0)).unwrap();
            assert_eq!((c.factor, c.offset, c.shift), (1.0, 0.0, shift));
        }
        // A ratio just above a power of two gets the next shift and a factor near one half.
        let c = Correction::between((0.25f64.next_up(), 0), (1.0, 0)).unwrap();
        assert_eq!((c.factor, c.shift), (0.5f64.next_up(), 1));
        assert!(Correction::between((0.0, 0), (1.0, 0)).is_err());
        assert!(Correction::between((1e-300, 0), (1e300, 0)).is_err());
    }

    #[test]
    fn a_zero_correction_of_one_folds_into_a_plain_shift() {
        let c = Correction::between((0.125, 0), (1.0, 0)).unwrap();
        let form = fractional_zero(&Per::Tensor(c), 15, Rounding::HalfEven, IntType::I8).unwrap();
        let narrowing = Narrowing {
            shift: Per::Tensor(3),
            rounding: Rounding::HalfEven,
            out: IntType::I8,
        };
        let shift = Wanted {
            kind: FormKind::ArithFolded,
            limits: Limits {
                bits: 1,
                normalized: false,
                shift: 0..=31,
            },
            rounding: Rounding::HalfEven,
        };
        let plain = Requantization::ArithFolded(form::ArithFolded { narrowing });
        assert_eq!(
            weaken(&form, &[shift], &Per::Tensor((-2000, 2000))),
            Ok(Some((0, plain)))
        );
    }

    #[test]
    fn large_ratios_are_refused_and_small_ones_lose_bits() {
        let form = |input, output, bits| {
            let c = Correction::between((input, 0), (output, 0)).unwrap();
            fractional_zero(&Per::Tensor(c), bits, Rounding::HalfUp, IntType::I8)
        };
        assert!(form(127.0, 1.0, 7).is_ok());
        assert!(matches!(form(129.0, 1.0, 7), Err(ScaleError::TooLarge { .. })));
        assert_eq!(
            form(1.0, 1.0, 0),
            Err(ScaleError::Bits {
                bits: 0,
                most: MOST_BITS
            })
        );
        assert_eq!(
            form(1.0, 1.0, 31),
            Err(ScaleError::Bits {
                bits: 31,
                most: MOST_BITS
            })
        );
        let integers = |input| match form(input, 1.0, 15) {
            Ok(Requantization::FractionalZero(form::FractionalZero {
                sc: Per::Tensor(sc),
                narrowing,
                ..
            })) => (sc, narrowing.shift),
            other => panic!("{other:?}"),
        };
        assert_eq!(integers(0.75 * 2f64.powi(-47)), (3 << 13, 62.into()));
        assert_eq!(integers(0.75 * 2f64.powi(-48)), (3 << 12, 62.into()));
        assert_eq!(integers(0.75 * 2f64.powi(-62)), (1, 62.into()));
        assert_eq!(integers(1e-300), (0, 62.into()));
        // The zero point does not change: with the shift n it becomes an offset of zp * 2^n, up to the largest addend.
        let c = Correction::between((2f64.powi(-40), 0), (1.0, -3)).unwrap();
        let form = fractional_zero(&c.into(), 15, Rounding::HalfUp, IntType::I8).unwrap();
        assert_eq!(form.eval(0, 1000), Ok(-3));
    }

    #[test]
    fn the_folded_grid_is_no_finer_than_the_weights_need() {
        // 0.5 / 0.25 * 2^-n >= 0.1 for n <= 4.
        assert_eq!(folded_shift(0.25, 0.1, 0.5), Ok((4, 0.125)));
        assert_eq!(folded_shift(0.25, 0.125, 0.5), Ok((4, 0.125)));
        assert_eq!(folded_shift(0.25, 0.125f32.next_up(), 0.5), Ok((3, 0.25)));
        assert_eq!(folded_shift(1.0, 1e-30, 1.0), Ok((31, 2f64.powi(-31))));
        assert_eq!(folded_shift(1.0, 1.0, 1.0), Ok((0, 1.0)));
        assert!(matches!(
            folded_shift(1.0, 1.0f32.next_up(), 1.0),
            Err(ScaleError::TooLarge { .. })
        ));
    }

    proptest! {
        #[test]
        fn the_correction_is_the_affine_map_between_the_grids(
            input in 1e-6f64..1e3, output in 1e-6f64..1e3, zi in -128i32..256, zo in -128i32..256, q in -5000i32..5000,
        ) {
            let c = Correction::between((input, zi), (output, zo)).unwrap();
            prop_assert!(c.factor > 0.5 && c.factor <= 1.0);
            let mapped = ldexp(f64::from(q) * c.factor + c.offset, -c.shift);
            let real = input * f64::from(q - zi);
            let expect = real / output + f64::from(zo);
            prop_assert!((mapped - expect).abs() <= 1e-9 * (1.0 + expect.abs() + f64::from(q.abs()) * input / output));
        }

        #[test]
        fn more_bits_of_correction_come_closer(input in 0.01f64..1.0, zi in -128i32..128, zo in -128i32..128, q in -128i32..128) {
            let c = Correction::between((input, zi), (1.0, zo)).unwrap();
            let form = fractional_zero(&Per::Tensor(c), 24, Rounding::HalfEven, IntType::I32).unwrap();
            let expect = input * f64::from(q - zi) + f64::from(zo);
            let got = form.eval(0, i64::from(q)).unwrap();
            prop_assert!((f64::from(got) - expect).abs() <= 0.501);
        }
    }
}
