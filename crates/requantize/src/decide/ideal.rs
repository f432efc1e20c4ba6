//! The ideal requantization with a real factor, in exact arithmetic.

use super::thresholds::{DecideError, sweep};
use crate::{
    IntType, Rounding,
    form::{Affine, firsts},
    scales::{ScaleError, fixed_point::frexp},
};

/// The function that a requantization approximates: `sat(round(s (x - z_x)) + z)`, or `sat(round(s (x - z_x) + z))` if
/// the zero point z of the result is added inside the rounding. Here z_x is the zero point of the input x, and the
/// factor s is a finite positive `f64`. The function is computed exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ideal {
    /// s = mantissa / 2^shift. Either the mantissa is odd or the shift is zero.
    mantissa: i64,
    shift: u8,
    pub(super) rounding: Rounding,
    pub(super) grids: Grids,
}

/// The grids of the ideal function's operand and result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grids {
    /// The zero point of x.
    pub input_zero: i32,
    /// The zero point of the result.
    pub output_zero: i32,
    /// True if the zero point of the result is added before the rounding. For rounding modes that depend on sign or
    /// parity, this can change the result of ties.
    pub zero_inside: bool,
    /// The type of the result.
    pub out: IntType,
}

/// The largest magnitude of an accumulator. Up to this magnitude, all products are far inside the range of `i128`.
const FARTHEST: i64 = 1 << 50;
/// From this shift on, the factor times any accumulator is below one quarter, so all larger shifts give the same
/// results.
const NEXT_TO_NOTHING: u8 = 104;

impl Ideal {
    /// Makes the ideal function with the given factor.
    ///
    /// # Errors
    /// The factor is not finite and positive, or is above 2^31.
    pub fn new(factor: f64, rounding: Rounding, grids: Grids) -> Result<Self, ScaleError> {
        if !(factor.is_finite() && factor > 0.0) {
            return Err(ScaleError::NotPositive {
                what: "factor",
                value: factor,
            });
        }
        if factor > 2f64.powi(31) {
            return Err(ScaleError::TooLarge {
                factor,
                rule: "an ideal factor",
            });
        }
        let (fraction, exponent) = frexp(factor);
        // Both operations are exact, because an f64 has 53 bits of significand.
        let mantissa = (fraction * 2f64.powi(53)) as i64;
        let (mantissa, shift) = (
            mantissa >> mantissa.trailing_zeros(),
            53 - exponent - mantissa.trailing_zeros() as i32,
        );
        let (mantissa, shift) = match u8::try_from(shift) {
            Ok(shift) if shift <= NEXT_TO_NOTHING => (mantissa, shift),
            // The factor is at most 2^31, so the shifted mantissa fits into i64.
            Err(_) if shift < 0 => (mantissa << -shift, 0),
            _ => (1, NEXT_TO_NOTHING),
        };
        Ok(Ideal {
            mantissa,
            shift,
            rounding,
            grids,
        })
    }

    /// The number that is added to s (x - z_x) before the rounding, and the number that is added after it.
    fn zeros(&self) -> (i128, i128) {
        let zero = i128::from(self.grids.output_zero);
        if self.grids.zero_inside {
            (zero << self.shift, 0)
        } else {
            (0, zero)
        }
    }

    /// The result for an accumulator. Its magnitude must be at most 2^50.
    pub fn eval(&self, x: i64) -> Result<i32, DecideError> {
        if x.unsigned_abs() > FARTHEST.unsigned_abs() {
            return Err(DecideError::Distant(x));
        }
        let (inside, outside) = self.zeros();
        let product = (i128::from(x) - i128::from(self.grids.input_zero)) * i128::from(self.mantissa) + inside;
        let whole = self.rounding.shift_right_wide(product, self.shift) + outside;
        let out = self.grids.out;
        // After the clamp, the number is in the range of the type, so it fits into i32.
        Ok(whole.clamp(out.min().into(), out.max().into()) as i32)
    }

    /// The function before saturation. `None` if its addend does not fit into 128 bits.
    pub(super) fn rounded(&self) -> Option<Rounded> {
        let [inside, zero_point] = match self.grids.zero_inside {
            true => [self.grids.output_zero, 0],
            false => [0, self.grids.output_zero],
        };
        let inside = i128::from(inside).checked_mul(1 << self.shift)?;
        Some(Rounded {
            factor: self.mantissa,
            addend: inside.checked_sub(i128::from(self.grids.input_zero) * i128::from(self.mantissa))?,
            shift: self.shift,
            rounding: self.rounding,
            zero_point,
        })
    }

    /// Computes the thresholds on an interval in batches. `ends` are the function's results at the ends of the
    /// interval.
    pub(super) fn sweep(&self, ends: [i32; 2]) -> impl Iterator<Item = i64> {
        let (inside, outside) = self.zeros();
        // The zero point is an i32, so it fits into i64.
        let (outside, input_zero) = (outside as i64, i64::from(self.grids.input_zero));
        // Finds, for each requested result k, the smallest u = x - z_x with round((u mantissa + inside) / 2^shift) +
        // outside >= k. Each k is reached inside the interval, so these u stay small.
        sweep(ends, move |values| {
            let quotients = values.start() - outside..=values.end() - outside;
            let mut all = firsts(quotients, self.shift, self.mantissa, |quotient| {
                self.rounding.least_reaching(quotient.into(), self.shift) - inside
            });
            all.iter_mut().for_each(|x| *x += input_zero);
            all
        })
    }

    /// |s - m / 2^n| in units of 2^-104. This is the exact value, or the largest number if the value does not fit.
    pub(super) fn distance(&self, m: i32, n: u8) -> u128 {
        let unit = |value: i128, shift: u8| value.checked_mul(1i128.checked_shl((NEXT_TO_NOTHING - shift).into())?);
        let (own, other) = (unit(self.mantissa.into(), self.shift), unit(m.into(), n));
        match (own, other) {
            (Some(own), Some(other)) => own.abs_diff(other),
            _ => u128::MAX,
        }
    }

    /// Returns, for the divisor 2^n, the largest integer m with m / 2^n below the factor s, and the smallest integer m
    /// with m / 2^n above it.
    pub(super) fn around(&self, n: u8) -> [i128; 2] {
        let below = match n.checked_sub(self.shift) {
            Some(left) => i128::from(self.mantissa) << left,
            None => i128::from(self.mantissa) >> (self.shift - n),
        };
        [below, below + 1]
    }

    /// The number that is added before a right shift by n, if the zero point of the result is added inside the
    /// rounding. It is 0 if the zero point is added after the rounding.
    pub(super) fn inside(&self, n: u8) -> i128 {
        if self.grids.zero_inside {
            i128::from(self.grids.output_zero) << n
        } else {
            0
        }
    }

    /// The form with the multiplier `m` and the shift `n`. Both must be legal. The zero points of the input and of the
    /// result are exact, and each is added where the ideal function adds it.
    pub(super) fn affine(&self, m: i32, n: u8) -> Affine {
        let addend = self.inside(n) - i128::from(self.grids.input_zero) * i128::from(m);
        Affine {
            factor: m,
            // The form is legal, so the magnitude of the addend is at most MAX_ADDEND, and it fits into i64.
            addend: addend as i64,
            shift: n,
            rounding: self.rounding,
            zero_point: if self.grids.zero_inside {
                0
            } else {
                self.grids.output_zero
            },
        }
    }
}

/// `round((x * factor + addend) / 2^shift) + zero_point`, where the factor is not negative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounded {
    pub(super) factor: i64,
    pub(super) addend: i128,
    pub(super) shift: u8,
    pub(super) rounding: Rounding,
    pub(super) zero_point: i32,
}
