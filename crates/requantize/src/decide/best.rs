//! Finds the integers with which a form comes nearest to the ideal function of a real factor. This is for forms whose
//! integers can be chosen freely.
//!
//! A form has a multiplier m and a right shift n, and approximates the real factor s by v = m / 2^n. If the form rounds
//! as the ideal function does and adds the zero point in the same place, its results depend only on v and on x, the
//! accumulator minus its zero point. For v = s the form is the ideal function. For x above zero, a larger v never gives
//! a smaller result. For x below zero, a larger v never gives a larger result. So on either side of s, the difference
//! from the ideal function grows with |v - s| at every x, and so do the largest difference and the number of x with a
//! difference. The best v is therefore the nearest v below s or the nearest v above s. Only these two are ever compared
//! with the ideal function, for any width of the form, and the better one is the optimum.
//!
//! The parameters alone often decide the comparison. Otherwise the thresholds are compared, up to [`MAX_STEPS`] of
//! them. Results of 8 and 16 bits never have more thresholds. A function with more thresholds is compared accumulator
//! by accumulator, up to [`MAX_STEPS`] accumulators. This limit is a count and not a time, so it is the same on every
//! machine. A form with 32-bit results on a long interval can exceed both limits. Then the v nearest to s is the
//! answer, and it is not known whether another v is better.

use super::{
    deviation::between,
    ideal::Ideal,
    normal::{Lines, shared_powers},
    thresholds::{Chain, DecideError, MAX_STEPS, few_steps, values},
};
use crate::decide::difference::Deviation;
use crate::{
    IntType, Requantization, Step,
    form::{Affine, MAX_ADDEND, MAX_SHIFT},
};
use std::ops::RangeInclusive;

/// Limits for the integers of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The width of the multiplier, 1 ..= 31.
    pub bits: u8,
    /// True if the highest bit of the multiplier must be 1.
    pub normalized: bool,
    /// The right shifts that the form supports.
    pub shift: RangeInclusive<u8>,
}

impl Limits {
    pub(super) fn multipliers(&self) -> RangeInclusive<i128> {
        let bits = self.bits.clamp(1, 31);
        let least = if self.normalized { 1i128 << (bits - 1) } else { 0 };
        least..=(1i128 << bits) - 1
    }
}

/// The best integers for one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The integers. The form is `round((x factor + addend) / 2^shift) + zero_point`.
    pub affine: Affine,
    /// How far the form with the best integers is from the ideal function. `None` if measuring this takes too many
    /// comparisons.
    pub deviation: Option<Deviation>,
}

impl Best {
    /// Says whether it is proven that no other integers are better.
    pub fn found(&self) -> Optimality {
        match self.deviation {
            Some(_) => Optimality::Optimal,
            None => Optimality::BestFound,
        }
    }
}

/// Whether it is proven that no other integers are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Optimality {
    /// No multiplier and shift within the limits are better. This is about forms that add both zero points exactly.
    Optimal,
    /// With these integers, m / 2^n is as near to the factor as possible. Other integers were not compared with the
    /// ideal function, so it is not known whether they are better.
    BestFound,
}

/// Why no best integers were found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BestError {
    /// No multiplier and shift within the limits make a legal form for this factor.
    #[error("no multiplier of {bits} bits with a shift in {} ..= {} fits the factor", .shift.start(), .shift.end())]
    NoneLegal {
        /// The width of the multiplier.
        bits: u8,
        /// The shifts that the form supports.
        shift: RangeInclusive<u8>,
    },
    /// The ideal function cannot be evaluated on the interval.
    #[error(transparent)]
    Decide(#[from] DecideError),
}

/// Finds the multiplier m and the shift n, within the limits, with which the form comes nearest to the ideal function
/// with the factor s on an interval. Candidates are ranked by their largest difference from the ideal function, then by
/// the number of accumulators with a difference, then by |m / 2^n - s|, and then by the shift. If it would take too
/// many comparisons to find the differences, candidates are ranked only by |m / 2^n - s| and by the shift.
///
/// # Errors
/// No multiplier and shift are legal, or the interval is empty or contains accumulators that are too large.
pub fn best(ideal: &Ideal, limits: &Limits, interval: (i64, i64)) -> Result<Best, BestError> {
    Target::of(ideal, interval).best(limits)
}

/// The ideal function on an interval, prepared for comparisons.
pub(super) struct Target<'a> {
    ideal: &'a Ideal,
    interval: (i64, i64),
    /// The results of the function at the ends of the interval.
    ends: Result<[i32; 2], DecideError>,
    /// The ideal function, expressed as a piecewise linear function that is rounded down. `None` if the ideal function
    /// cannot be expressed in this way. Functions are then compared with the ideal function by their thresholds.
    lines: Option<Lines>,
}

impl<'a> Target<'a> {
    pub(super) fn of(ideal: &'a Ideal, interval: (i64, i64)) -> Self {
        let ends = values(interval, |x| ideal.eval(x));
        Target {
            ideal,
            interval,
            lines: (ends.as_ref().ok()).and_then(|ends| Lines::of_ideal(ideal, *ends, interval)),
            ends,
        }
    }

    /// Measures how far a function is from the ideal function. Compares the two by their parameters, by their
    /// thresholds, or accumulator by accumulator if there are fewer accumulators than thresholds.
    pub(super) fn deviation(&self, own: &Chain<'_>) -> Result<Deviation, DecideError> {
        let interval = self.interval;
        let (ideal_ends, ends) = (self.ends.clone()?, own.ends(interval)?);
        let by_parameters = |ideal: &Lines| Lines::of_chain(own, ends, interval)?.deviation(ideal, interval);
        if let Some(found) = self.lines.as_ref().and_then(by_parameters) {
            return Ok(found);
        }
        let (low, high) = interval;
        let accumulators = high.abs_diff(low);
        let fewer = |[lowest, highest]: [i32; 2]| u64::from(highest.abs_diff(lowest)) <= accumulators;
        match few_steps(ideal_ends).and(few_steps(ends)) {
            Ok(()) if fewer(ideal_ends) && fewer(ends) => Ok(between(
                (interval, ends[0], own.sweep(ends)),
                (interval, ideal_ends[0], self.ideal.sweep(ideal_ends)),
            )),
            Err(too_many) if accumulators > MAX_STEPS.into() => Err(too_many),
            _ => {
                let mut found = Deviation::none(interval);
                for x in low..=high {
                    found.add(own.eval(x)?.abs_diff(self.ideal.eval(x)?), x, 1);
                }
                Ok(found)
            }
        }
    }

    pub(super) fn best(&self, limits: &Limits) -> Result<Best, BestError> {
        if let Err(error) = &self.ends {
            return Err(error.clone().into());
        }
        let candidates = self.ideal.nearest(limits);
        let Some(&(_, _, side, nearest)) = candidates.first() else {
            return Err(BestError::NoneLegal {
                bits: limits.bits,
                shift: limits.shift.clone(),
            });
        };
        let deviation = |affine: &Affine| {
            let form = requantization(affine, self.ideal.grids.out);
            match self.deviation(&Chain::new(&[form.into()], 0)?) {
                Ok(found) => Ok(Some(found)),
                Err(DecideError::TooManySteps { .. }) => Ok(None),
                Err(error) => Err(BestError::from(error)),
            }
        };
        let mut best = Best {
            affine: nearest,
            deviation: deviation(&nearest)?,
        };
        // If the two candidates are equally good, the one nearest to the factor is taken.
        let key = |deviation: &Deviation| (deviation.max_lsb, deviation.differing);
        if let Some(own) = best.deviation.filter(|own| own.max_lsb > 0)
            && let Some(&(.., other)) = candidates.iter().find(|(_, _, above, _)| *above != side)
        {
            match deviation(&other)? {
                Some(found) if key(&found) < key(&own) => (best.affine, best.deviation) = (other, Some(found)),
                Some(_) => {}
                None => best.deviation = None,
            }
        }
        Ok(best)
    }
}

impl Ideal {
    /// Measures how far the function of `steps` is from the ideal function on an interval. If the steps have the
    /// integers that a runtime derives, the result says how much accuracy the runtime loses.
    ///
    /// # Errors
    /// [`DecideError::TooManySteps`] if there are too many thresholds and too many accumulators to compare the
    /// functions.
    pub fn deviation(&self, steps: &[Step], channel: usize, interval: (i64, i64)) -> Result<Deviation, DecideError> {
        Target::of(self, interval).deviation(&Chain::new(steps, channel)?)
    }

    /// Lists multipliers m and shifts n within the limits, sorted by the distance of m / 2^n from the factor, the
    /// nearest entry first. The nearest value of m / 2^n below the factor and the nearest value above it are in the
    /// list. An entry contains the distance, the shift, a flag that is true if m / 2^n is above the factor, and the
    /// function that the form computes.
    fn nearest(&self, limits: &Limits) -> Vec<(u128, u8, bool, Affine)> {
        let multipliers = limits.multipliers();
        let (first, last) = (*limits.shift.start(), (*limits.shift.end()).min(MAX_SHIFT));
        // `top` is the largest shift n for which the largest m with m / 2^n below the factor is within the limits.
        let fits = |n: &u8| self.around(*n)[0] <= *multipliers.end();
        let top = (first..=last).rev().find(fits).unwrap_or(first);
        let mut candidates = Vec::with_capacity(6);
        for n in (first..=top.saturating_add(1).min(last)).rev() {
            let around = self.around(n);
            let Some(legal) = self.legal(&multipliers, n) else {
                continue;
            };
            let nearest = around.map(|m| m.clamp(*legal.start(), *legal.end()));
            for m in nearest {
                // The multiplier lies within the limits, so it fits into i32.
                let affine = self.affine(m as i32, n);
                let affine = if limits.normalized {
                    affine
                } else {
                    shortest(affine, first)
                };
                let distance = self.distance(affine.factor, affine.shift);
                candidates.push((distance, affine.shift, m > around[0], affine));
            }
            // Here, no limit on m excludes the two nearest values of m / 2^n. A smaller shift gives only some of the
            // values that this shift gives, so it need not be tried.
            if nearest == around {
                break;
            }
        }
        candidates.sort_by_key(|&(distance, shift, above, _)| (distance, shift, above));
        candidates
    }

    /// Returns the multipliers m in `multipliers` for which the addend is legal with the shift n:
    /// `|inside - z_x m| <= MAX_ADDEND`, where z_x is the zero point of the input and `inside` is the zero point that
    /// is added before the shift. These m form an interval. Returns `None` if it is empty.
    fn legal(&self, multipliers: &RangeInclusive<i128>, n: u8) -> Option<RangeInclusive<i128>> {
        let (inside, zero) = (self.inside(n), i128::from(self.grids.input_zero));
        let limit = i128::from(MAX_ADDEND);
        let (mut low, mut high) = (*multipliers.start(), *multipliers.end());
        if zero == 0 {
            return (inside.abs() <= limit).then_some(low..=high);
        }
        // Up to the sign of z_x, (inside - limit) / z_x <= m <= (inside + limit) / z_x.
        let ends = [(inside - limit) * zero.signum(), (inside + limit) * zero.signum()];
        low = low.max(-(-ends[0].min(ends[1])).div_euclid(zero.abs()));
        high = high.min(ends[0].max(ends[1]).div_euclid(zero.abs()));
        (low <= high).then_some(low..=high)
    }
}

/// Cancels common powers of two of the function's integers, but keeps the shift at `first` or above.
pub(super) fn shortest(a: Affine, first: u8) -> Affine {
    let shared = shared_powers(&a).min(a.shift.saturating_sub(first));
    Affine {
        factor: a.factor >> shared,
        addend: a.addend >> shared,
        shift: a.shift - shared,
        ..a
    }
}

/// Makes the form with the integers of `a`.
fn requantization(a: &Affine, out: IntType) -> Requantization {
    Requantization::from(crate::form::Fixed {
        sc: a.factor.into(),
        add: a.addend.into(),
        zp: a.zero_point,
        narrowing: crate::Narrowing {
            shift: a.shift.into(),
            rounding: a.rounding,
            out,
        },
    })
}
