//! The ideal function of a real factor, in exact arithmetic.

use super::{
    normal::Rounded,
    thresholds::{DecideError, sweep},
};
use crate::{
    IntType, Rounding,
    form::{Affine, firsts},
    scales::{ScaleError, fixed_point::frexp},
};

/// The function that a requantization stands for: `sat(round(s (x - z_x)) + z)`, or `sat(round(s (x - z_x) + z))` with
/// the zero point inside the rounding; in exact arithmetic with s a finite positive `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ideal {
    /// s = mantissa / 2^shift, the mantissa odd or the shift zero.
    mantissa: i64,
    shift: u8,
    pub(super) rounding: Rounding,
    pub(super) grids: Grids,
}

/// Grids of the operand and of the result of the ideal function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grids {
    /// Zero point of x.
    pub input_zero: i32,
    /// Zero point of the result.
    pub output_zero: i32,
    /// True if the result's zero point is added before the rounding; for the modes that look at the sign or the parity
    /// this makes a difference at ties.
    pub zero_inside: bool,
    /// Type of the result.
    pub out: IntType,
}

/// The farthest accumulator: with it, all products stay far inside `i128`.
const FARTHEST: i64 = 1 << 50;
/// With a shift so large, s x is below one quarter for every accumulator, and how far below makes no difference.
const NEXT_TO_NOTHING: u8 = 104;

impl Ideal {
    /// # Errors
    /// The factor is not finite and positive, or above 2^31.
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
        // 53 bits make every f64; both are exact.
        let mantissa = (fraction * 2f64.powi(53)) as i64;
        let (mantissa, shift) = (
            mantissa >> mantissa.trailing_zeros(),
            53 - exponent - mantissa.trailing_zeros() as i32,
        );
        let (mantissa, shift) = match u8::try_from(shift) {
            Ok(shift) if shift <= NEXT_TO_NOTHING => (mantissa, shift),
            // At most 2^31.
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

    /// Addends of s (x - z_x) in front of the rounding and behind it.
    fn zeros(&self) -> (i128, i128) {
        let zero = i128::from(self.grids.output_zero);
        if self.grids.zero_inside {
            (zero << self.shift, 0)
        } else {
            (0, zero)
        }
    }

    /// The result for an accumulator of at most 2^50 in magnitude.
    pub fn eval(&self, x: i64) -> Result<i32, DecideError> {
        if x.unsigned_abs() > FARTHEST.unsigned_abs() {
            return Err(DecideError::Distant(x));
        }
        let (inside, outside) = self.zeros();
        let product = (i128::from(x) - i128::from(self.grids.input_zero)) * i128::from(self.mantissa) + inside;
        let whole = self.rounding.shift_right_wide(product, self.shift) + outside;
        let out = self.grids.out;
        // The clamp leaves the type.
        Ok(whole.clamp(out.min().into(), out.max().into()) as i32)
    }

    /// The function without its saturation; `None` where its addend leaves 128 bits.
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

    /// The thresholds on an interval with these values at its ends, some at a time.
    pub(super) fn sweep(&self, ends: [i32; 2]) -> impl Iterator<Item = i64> {
        let (inside, outside) = self.zeros();
        // The zero point is an i32.
        let (outside, input_zero) = (outside as i64, i64::from(self.grids.input_zero));
        // round((u mantissa + inside) / 2^shift) + outside >= k, where x = u + z_x; the k asked for are reached inside the
        // interval, so that none of this is large.
        sweep(ends, move |values| {
            let quotients = values.start() - outside..=values.end() - outside;
            let mut all = firsts(quotients, self.shift, self.mantissa, |quotient| {
                self.rounding.least_reaching(quotient.into(), self.shift) - inside
            });
            all.iter_mut().for_each(|x| *x += input_zero);
            all
        })
    }

    /// s - m / 2^n, in units of 2^-104: exact, or the largest number where it is too large for that.
    pub(super) fn distance(&self, m: i32, n: u8) -> u128 {
        let unit = |value: i128, shift: u8| value.checked_mul(1i128.checked_shl((NEXT_TO_NOTHING - shift).into())?);
        let (own, other) = (unit(self.mantissa.into(), self.shift), unit(m.into(), n));
        match (own, other) {
            (Some(own), Some(other)) => own.abs_diff(other),
            _ => u128::MAX,
        }
    }

    /// m / 2^n below s and above it, the nearest ones of any integer m.
    pub(super) fn around(&self, n: u8) -> [i128; 2] {
        let below = match n.checked_sub(self.shift) {
            Some(left) => i128::from(self.mantissa) << left,
            None => i128::from(self.mantissa) >> (self.shift - n),
        };
        [below, below + 1]
    }

    /// Addend in front of a shift by n that stands for the result's zero point.
    pub(super) fn inside(&self, n: u8) -> i128 {
        if self.grids.zero_inside {
            i128::from(self.grids.output_zero) << n
        } else {
            0
        }
    }

    /// The form with this multiplier and shift, which are legal: both zero points at their places, exactly.
    pub(super) fn affine(&self, m: i32, n: u8) -> Affine {
        let addend = self.inside(n) - i128::from(self.grids.input_zero) * i128::from(m);
        Affine {
            factor: m,
            // At most MAX_ADDEND.
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
