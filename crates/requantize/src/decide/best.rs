//! The integers of a free form that come nearest to the ideal function of a real factor.
//!
//! With the ideal's rounding and its place of the zero point, a form is a function of v = m / 2^n alone, and of which it is
//! the ideal for v = s. For x above zero a larger v never gives a smaller result, for x below zero never a larger one, so
//! on either side of s the difference from the ideal grows with |v - s| at every x, and with it the largest difference and
//! the number of x that differ. The best v is therefore the nearest that there is below s or the nearest above it, and both
//! are looked at: what comes out is the optimum, not the best of some that were tried.

use super::{
    deviation::{Deviation, between},
    exact::exact_factors,
    normal::shared_powers,
    thresholds::{DecideError, Thresholds},
};
use crate::{
    IntType, Rounding, Step,
    form::{Affine, MAX_ADDEND, MAX_SHIFT},
    scales::{ScaleError, fixed_point::frexp},
};
use std::ops::RangeInclusive;

/// The function that a requantization stands for: `sat(round(s (x - z_x)) + z)`, or `sat(round(s (x - z_x) + z))` with the
/// zero point inside the rounding; in exact arithmetic with s a finite positive `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ideal {
    /// s = mantissa / 2^shift, the mantissa odd or the shift zero.
    mantissa: i64,
    shift: u8,
    rounding: Rounding,
    grids: Grids,
}

/// What the ideal function leads from and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grids {
    /// Zero point of x.
    pub input_zero: i32,
    /// Zero point of the result.
    pub output_zero: i32,
    /// Whether the result's zero point is added before the rounding; for the modes that look at the sign or the parity this
    /// makes a difference at ties.
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

    /// What is added to s (x - z_x) in front of the rounding, and behind it.
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

    /// The thresholds on an interval, in closed form.
    pub fn thresholds(&self, interval: (i64, i64)) -> Result<Thresholds, DecideError> {
        let (inside, outside) = self.zeros();
        let mantissa = i128::from(self.mantissa);
        Thresholds::in_closed_form(
            interval,
            |x| self.eval(x),
            |k| {
                // round((u mantissa + inside) / 2^shift) + outside >= k; the k asked for are reached inside the interval, so
                // that none of this is large.
                let quotient = self.rounding.least_reaching(i128::from(k) - outside, self.shift) - inside;
                let least = least_multiplicand(quotient, mantissa) + i128::from(self.grids.input_zero);
                // Inside the interval.
                least.clamp(interval.0.into(), interval.1.into()) as i64
            },
        )
    }

    /// How far steps are from it on an interval: what a runtime's own integers lose.
    pub fn deviation(&self, steps: &[Step], channel: usize, interval: (i64, i64)) -> Result<Deviation, DecideError> {
        Ok(between(
            &Thresholds::of(steps, channel, interval)?,
            &self.thresholds(interval)?,
        ))
    }

    /// With the shift n, all multipliers that make exactly the ideal function on an interval; `None` where none does. Only for
    /// an input zero point of 0, which the multiplier would change otherwise.
    pub fn exact_multipliers(&self, n: u8, interval: (i64, i64)) -> Result<Option<RangeInclusive<i32>>, DecideError> {
        let form = affine(self, 0, n).filter(|_| self.grids.input_zero == 0);
        let target = self.thresholds(interval)?;
        Ok(form.and_then(|form| exact_factors(&target, &form, self.grids.out)))
    }

    /// s - m / 2^n, in units of 2^-104: exact, or the largest number where it is too large for that.
    fn distance(&self, m: i32, n: u8) -> u128 {
        let unit = |value: i128, shift: u8| value.checked_mul(1i128.checked_shl((NEXT_TO_NOTHING - shift).into())?);
        let (own, other) = (unit(self.mantissa.into(), self.shift), unit(m.into(), n));
        match (own, other) {
            (Some(own), Some(other)) => own.abs_diff(other),
            _ => u128::MAX,
        }
    }

    /// m / 2^n below s and above it, the nearest ones of any integer m.
    fn around(&self, n: u8) -> [i128; 2] {
        let below = match n.checked_sub(self.shift) {
            Some(left) => i128::from(self.mantissa) << left,
            None => i128::from(self.mantissa) >> (self.shift - n),
        };
        [below, below + 1]
    }
}

/// What integers a form may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The multiplier's width, 1 ..= 31.
    pub bits: u8,
    /// Whether its highest bit must be set.
    pub normalized: bool,
    /// The shifts to the right.
    pub shift: RangeInclusive<u8>,
}

impl Limits {
    pub(super) fn multipliers(&self) -> RangeInclusive<i128> {
        let bits = self.bits.clamp(1, 31);
        let least = if self.normalized { 1i128 << (bits - 1) } else { 0 };
        least..=(1i128 << bits) - 1
    }
}

/// The best integers of one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The integers: the form is `round((x factor + addend) / 2^shift) + zero_point`.
    pub affine: Affine,
    /// How far they are from the ideal.
    pub deviation: Deviation,
    /// Whether nothing within the limits is better.
    pub found: Optimality,
}

/// What is known of the best integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimality {
    /// None within the limits are better.
    Optimal,
    /// None of those that were tried are better.
    BestFound,
}

/// Why there are no best integers.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BestError {
    /// No multiplier and shift within the limits make a legal form for this factor.
    #[error("no multiplier of {bits} bits with a shift in {} ..= {} fits the factor", .shift.start(), .shift.end())]
    NoneLegal {
        /// The multiplier's width.
        bits: u8,
        /// The shifts.
        shift: RangeInclusive<u8>,
    },
    /// The ideal function cannot be listed.
    #[error(transparent)]
    Decide(#[from] DecideError),
}

/// The multiplier and the shift within the limits that are nearest to the ideal on an interval, by the largest difference,
/// the number of accumulators that differ, |m / 2^n - s|, and the shift, in this order.
///
/// # Errors
/// For results of more than 16 bits there are too many thresholds; nothing is said about them.
pub fn best(ideal: &Ideal, limits: &Limits, interval: (i64, i64)) -> Result<Best, BestError> {
    let target = ideal.thresholds(interval)?;
    let legal = limits.multipliers();
    let (first, last) = (*limits.shift.start(), (*limits.shift.end()).min(MAX_SHIFT));
    let too_large = |n: &u8| ideal.around(*n)[0] > *legal.end();
    // A shift has all values of the one below it but the largest multiplier's half, so the largest that fits is enough, and
    // its neighbours for factors between the largest multiplier and a power of two.
    let top = (first..=last).rev().find(|n| !too_large(n)).unwrap_or(first);
    let mut candidates: Vec<(u128, u8, bool, Affine)> = Vec::with_capacity(6);
    for n in top.saturating_sub(1).max(first)..=(top + 1).min(last) {
        for m in ideal.around(n).map(|m| m.clamp(*legal.start(), *legal.end())) {
            // Inside the limits, hence an i32.
            let Some(affine) = affine(ideal, m as i32, n) else {
                continue;
            };
            let affine = if limits.normalized {
                affine
            } else {
                shortest(affine, first)
            };
            let distance = ideal.distance(affine.factor, affine.shift);
            candidates.push((distance, affine.shift, m > ideal.around(n)[0], affine));
        }
    }
    // The nearest first; of those on one side of s the first is the best.
    candidates.sort_by_key(|&(distance, shift, above, _)| (distance, shift, above));
    let deviation =
        |affine: &Affine| Ok::<_, BestError>(between(&thresholds(affine, ideal.grids.out, interval)?, &target));
    let none = || BestError::NoneLegal {
        bits: limits.bits,
        shift: limits.shift.clone(),
    };
    let &(_, _, side, nearest) = candidates.first().ok_or_else(none)?;
    let mut best = (nearest, deviation(&nearest)?);
    if best.1.max_lsb > 0
        && let Some((.., other)) = candidates.iter().find(|(_, _, above, _)| *above != side)
    {
        let found = deviation(other)?;
        // The nearest one stays where neither is better.
        if (found.max_lsb, found.differing) < (best.1.max_lsb, best.1.differing) {
            best = (*other, found);
        }
    }
    Ok(Best {
        affine: best.0,
        deviation: best.1,
        found: Optimality::Optimal,
    })
}

/// The smallest x with x factor >= product, for a positive factor and |x| below 2^51 or so: a quotient in `f64`, which
/// misses by one at most, and what is missing.
fn least_multiplicand(product: i128, factor: i128) -> i128 {
    let mut least = (product as f64 / factor as f64).ceil() as i128;
    while least * factor < product {
        least += 1;
    }
    while (least - 1) * factor >= product {
        least -= 1;
    }
    least
}

/// What a form whose integers the runtime itself derives from scales could gain if they were free.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// How far the runtime's own integers are from the ideal.
    pub runtime: Deviation,
    /// The best that there are.
    pub best: Best,
}

/// How far a runtime's own integers are from the ideal, and how far the best within the limits are. Nothing is replaced:
/// what the file stores are scales.
///
/// # Errors
/// As [`best`], and where the interval leaves the domain of the runtime's form.
pub fn gain(
    runtime: &Step,
    channel: usize,
    ideal: &Ideal,
    limits: &Limits,
    interval: (i64, i64),
) -> Result<Gain, BestError> {
    Ok(Gain {
        runtime: ideal.deviation(std::slice::from_ref(runtime), channel, interval)?,
        best: best(ideal, limits, interval)?,
    })
}

/// The form with this multiplier and shift: both zero points at their places, exactly. `None` where it is not legal.
fn affine(ideal: &Ideal, m: i32, n: u8) -> Option<Affine> {
    let Grids {
        input_zero,
        output_zero,
        zero_inside,
        ..
    } = ideal.grids;
    let inside = if zero_inside {
        i64::from(output_zero).checked_mul(1i64.checked_shl(n.into())?)?
    } else {
        0
    };
    let addend = inside.checked_sub(i64::from(input_zero) * i64::from(m))?;
    (-MAX_ADDEND..=MAX_ADDEND).contains(&addend).then_some(Affine {
        factor: m,
        addend,
        shift: n,
        rounding: ideal.rounding,
        zero_point: if zero_inside { 0 } else { output_zero },
    })
}

/// The same function with the smallest shift from `first` on.
pub(super) fn shortest(a: Affine, first: u8) -> Affine {
    let shared = shared_powers(&a).min(a.shift.saturating_sub(first));
    Affine {
        factor: a.factor >> shared,
        addend: a.addend >> shared,
        shift: a.shift - shared,
        ..a
    }
}

/// The thresholds of bare scalars.
fn thresholds(a: &Affine, out: IntType, interval: (i64, i64)) -> Result<Thresholds, DecideError> {
    let form = crate::Requantization::from(crate::form::Fixed {
        sc: a.factor.into(),
        add: a.addend.into(),
        zp: a.zero_point,
        narrowing: crate::Narrowing {
            shift: a.shift.into(),
            rounding: a.rounding,
            out,
        },
    });
    Thresholds::of(&[form.into()], 0, interval)
}
