//! Converts real factors to `mantissa * 2^exponent` with an integer mantissa, for the multiply-shift forms.

use super::{ScaleError, checked, positive, unzip};
use crate::{IntType, Narrowing, Per, Requantization, Rounding, form, form::MAX_SHIFT};

/// Splits `x` into a fraction with a magnitude in [0.5, 1) and an exponent of two. For zero, infinities and NaN, the
/// exponent is zero.
///
/// This is the same as C's `frexp`. It is exact for every `x`, including subnormal numbers.
pub fn frexp(x: f64) -> (f64, i32) {
    const EXPONENT: u64 = 0x7FF;
    const HALF: u64 = 0x3FE; // the exponent field of 0.5
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let field = |x: f64| (x.to_bits() >> 52) & EXPONENT;
    // A subnormal number is first multiplied by a power of two so that it becomes normal. This product is exact.
    let (x, scaled) = if field(x) == 0 { (x * 2f64.powi(64), 64) } else { (x, 0) };
    let fraction = f64::from_bits(x.to_bits() & !(EXPONENT << 52) | (HALF << 52));
    // The field is at most 2046, so it fits into i32.
    (fraction, field(x) as i32 - HALF as i32 - scaled)
}

/// `x * 2^exponent`. It is exact unless the result is subnormal, overflows, or `exponent` is beyond ±2000.
pub fn ldexp(x: f64, exponent: i32) -> f64 {
    // The power is applied in two steps, because the power alone may not fit into f64.
    let half = exponent.clamp(-2000, 2000) / 2;
    x * 2f64.powi(half) * 2f64.powi(exponent.clamp(-2000, 2000) - half)
}

/// A factor as `mantissa * 2^(exponent - bits)` with a mantissa of exactly `bits` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPoint {
    /// The mantissa, `2^(bits - 1) ..= 2^bits - 1`.
    pub mantissa: i32,
    /// The factor lies in [2^(exponent - 1), 2^exponent].
    pub exponent: i32,
    /// The number of bits, 1 ..= 31.
    pub bits: u8,
}

/// The largest number of bits of a multiplier, which is an i32 that is not negative.
const MOST_BITS: u8 = 31;

impl FixedPoint {
    /// The fixed-point number nearest to a finite positive factor, ties away from zero.
    pub fn nearest(factor: f64, bits: u8) -> Result<Self, ScaleError> {
        if !(1..=MOST_BITS).contains(&bits) {
            return Err(ScaleError::Bits { bits, most: MOST_BITS });
        }
        let (fraction, exponent) = frexp(positive("factor", factor)?);
        let top = 1i64 << bits;
        // The product of the fraction, which is below one, and a power of two is exact. Rounded, it is at most `top`,
        // which is one more than the largest mantissa.
        match Rounding::HalfAway.round_f64(fraction * top as f64) as i64 {
            mantissa if mantissa == top => Ok(FixedPoint {
                mantissa: (top / 2) as i32,
                exponent: exponent + 1,
                bits,
            }),
            mantissa => Ok(FixedPoint {
                mantissa: mantissa as i32,
                exponent,
                bits,
            }),
        }
    }
}

/// Derives a multiplier of `bits` bits and a right shift from a factor, for forms that round once. If the factor is so
/// small that the shift would exceed [`MAX_SHIFT`], the shift is [`MAX_SHIFT`] and the multiplier has fewer bits, or
/// is 0.
fn multiplier_and_shift(factor: f64, bits: u8) -> Result<(i32, u8), ScaleError> {
    let FixedPoint { mantissa, exponent, .. } = FixedPoint::nearest(factor, bits)?;
    match u8::try_from((i32::from(bits) - exponent).min(MAX_SHIFT.into())) {
        // The mantissa would need a larger shift than MAX_SHIFT. The multiplier that is left has fewer bits.
        Ok(MAX_SHIFT) => Ok((
            Rounding::HalfAway.round_f64(ldexp(factor, MAX_SHIFT.into())) as i32,
            MAX_SHIFT,
        )),
        Ok(shift) => Ok((mantissa, shift)),
        Err(_) => Err(ScaleError::TooLarge {
            factor,
            rule: "a multiplier without a left shift",
        }),
    }
}

/// The form `TfLite`, `sat(round(x * factor) + zp)`, with a multiplier of `bits` bits.
pub fn tf_lite(
    factor: &Per<f64>,
    bits: u8,
    zp: i32,
    rounding: Rounding,
    out: IntType,
) -> Result<Requantization, ScaleError> {
    let (sc, shift) = unzip(&factor.try_map(|f| multiplier_and_shift(*f, bits))?);
    checked(form::TfLite {
        sc,
        zp,
        narrowing: Narrowing { shift, rounding, out },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fractions_lie_in_the_upper_half_below_one() {
        for (x, expect) in [
            (1.0, (0.5, 1)),
            (0.75, (0.75, 0)),
            (-3.0, (-0.75, 2)),
            (0.0, (0.0, 0)),
            (f64::MIN_POSITIVE, (0.5, -1021)),
            (f64::from_bits(1), (0.5, -1073)),
            (f64::MAX, (1f64.next_down(), 1024)),
            (f64::INFINITY, (f64::INFINITY, 0)),
        ] {
            assert_eq!(frexp(x), expect);
            assert_eq!(ldexp(expect.0, expect.1), x);
        }
    }

    #[test]
    fn a_mantissa_that_rounds_up_to_the_next_power_takes_it() {
        let expect = FixedPoint {
            mantissa: 1 << 30,
            exponent: 1,
            bits: 31,
        };
        assert_eq!(FixedPoint::nearest(1f64.next_down(), 31), Ok(expect));
        assert_eq!(FixedPoint::nearest(1.0, 31), Ok(expect));
        assert_eq!(
            FixedPoint::nearest(1.0, 1),
            Ok(FixedPoint {
                mantissa: 1,
                exponent: 1,
                bits: 1
            })
        );
        assert_eq!(
            FixedPoint::nearest(0.3, 0),
            Err(ScaleError::Bits {
                bits: 0,
                most: MOST_BITS
            })
        );
        assert_eq!(
            FixedPoint::nearest(0.3, 32),
            Err(ScaleError::Bits {
                bits: 32,
                most: MOST_BITS
            })
        );
        assert!(FixedPoint::nearest(f64::NAN, 31).is_err() && FixedPoint::nearest(0.0, 31).is_err());
    }

    #[test]
    fn large_factors_are_refused_and_small_ones_lose_bits() {
        let form = |factor: f64| tf_lite(&factor.into(), 7, 0, Rounding::HalfUp, IntType::I8);
        let integers = |factor| match form(factor) {
            Ok(Requantization::TfLite(form::TfLite {
                sc: Per::Tensor(sc),
                narrowing,
                ..
            })) => (sc, *narrowing.shift.get(0).unwrap()),
            other => panic!("{other:?}"),
        };
        assert_eq!(integers(127.0), (127, 0));
        assert!(matches!(form(128.0), Err(ScaleError::TooLarge { .. })));
        assert_eq!(integers(100.0 * 2f64.powi(-61)), (100, 61));
        assert_eq!(integers(100.0 * 2f64.powi(-62)), (100, 62));
        assert_eq!(integers(100.0 * 2f64.powi(-65)), (13, 62)); // 12.5
        assert_eq!(integers(1e-300), (0, 62));
    }

    proptest! {
        #[test]
        fn fraction_and_exponent_make_the_number(bits: u64) {
            let x = f64::from_bits(bits);
            let (fraction, exponent) = frexp(x);
            if x.is_finite() && x != 0.0 {
                prop_assert!((0.5..1.0).contains(&fraction.abs()));
                prop_assert_eq!(ldexp(fraction, exponent), x);
            }
        }

        #[test]
        fn the_nearest_mantissa_is_within_half_a_unit(factor in 1e-9f64..1e9, bits in 1u8..=31) {
            let f = FixedPoint::nearest(factor, bits).unwrap();
            prop_assert!(f.mantissa >= 1 << (bits - 1) && i64::from(f.mantissa) < 1 << bits);
            let unit = ldexp(1.0, f.exponent - i32::from(bits));
            prop_assert!((f64::from(f.mantissa) * unit - factor).abs() <= unit / 2.0);
        }
    }
}
