//! Finds a cheaper form that gives the same results for all accumulators that can occur.

use super::{
    best::{Limits, shortest},
    deviation::{equal_on, verdicts},
    exact::{exact_addends, exact_factors},
    normal::{one_rounding, reduced},
    thresholds::{DecideError, Thresholds, common_channels},
};
use crate::{
    FormKind, IntType, Narrowing, Per, Requantization, Rounding, Step,
    convert::to_steps,
    form::{self, Affine, Arithmetic, Channel, MAX_SHIFT},
    scales::fixed_point::ldexp,
};

/// A kind of form that a target can compute, with its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The kind of form. Forms of the kinds `ArithFolded`, `FractionalZero`, `TfLite`, `Fixed`, `Float` and `Steps` can
    /// be searched for.
    pub kind: FormKind,
    /// The limits of multipliers and shifts. For `Float`, `bits` is the number of bits of the significand, up to 24.
    pub limits: Limits,
    /// The rounding of the form.
    pub rounding: Rounding,
}

/// Finds the first of the wanted forms that can be equal to `form` on the interval of every channel. The wanted forms
/// should be ordered from cheap to expensive. Returns the index of this wanted form, and the form with its parameters.
/// If there is none, returns `None`.
///
/// Each threshold of `form` limits a multiplier or an addend of the wanted form to an interval (see
/// [`exact_factors`](super::exact_factors)). With a number that lies in all of these intervals, the wanted form gives
/// the same results as `form`, even if it is of another kind, has fewer bits, or rounds in another way. For example,
/// one rounding can replace two, a shift can replace a multiplication, a fixed-point multiplication can replace a
/// float, or shared powers of two are cancelled. At the end, the form that was found is compared with `form`.
///
/// # Errors
/// The form is not legal, or is not defined on the interval. Forms with 32-bit results are weakened only if their
/// parameters alone decide the comparison.
pub fn weaken(
    form: &Requantization,
    wanted: &[Wanted],
    interval: &Per<(i64, i64)>,
) -> Result<Option<(usize, Requantization)>, DecideError> {
    let before = [Step::from(form.clone())];
    for (index, wanted) in wanted.iter().enumerate() {
        let found = match wanted.kind {
            FormKind::Steps => to_steps(&before, interval).ok(),
            FormKind::Float => {
                spelled(form, interval, |target| float(target, wanted))?.and_then(|all| as_float(&all, form.out()))
            }
            _ => spelled(form, interval, |target| Ok(affine(target, wanted)))?
                .and_then(|all| as_kind(wanted, &all, form.out())),
        };
        if let Some(found) = found
            && verdicts(&before, &found.clone().into(), interval)?.all(super::Verdict::is_exact)
        {
            return Ok(Some((index, found)));
        }
    }
    Ok(None)
}

/// One channel of the form for which a cheaper form is searched.
struct Target<'a> {
    step: &'a Step,
    scalars: Channel<'a>,
    interval: (i64, i64),
    /// The thresholds of the form. `None` if its results have too many bits.
    thresholds: Option<Thresholds>,
}

/// Calls `of` for every channel and collects the results. `None` if `of` gives `None` for some channel.
fn spelled<T>(
    form: &Requantization,
    interval: &Per<(i64, i64)>,
    of: impl Fn(&Target<'_>) -> Result<Option<T>, DecideError>,
) -> Result<Option<Per<T>>, DecideError> {
    let step = Step::from(form.clone());
    let channel = |channel: usize, expected: usize| {
        let missing = DecideError::Channels {
            expected,
            found: channel,
        };
        let interval = *interval.get(channel).ok_or(missing)?;
        let thresholds = match Thresholds::of(std::slice::from_ref(&step), channel, interval) {
            Err(DecideError::TooManySteps { .. }) => None,
            found => Some(found?),
        };
        of(&Target {
            step: &step,
            scalars: step.form.channel(channel)?,
            interval,
            thresholds,
        })
    };
    match common_channels([&step], interval)? {
        None => Ok(channel(0, 1)?.map(Per::Tensor)),
        Some(count) => {
            let mut all = Vec::with_capacity(count);
            for c in 0..count {
                match channel(c, count)? {
                    Some(found) => all.push(found),
                    None => return Ok(None),
                }
            }
            Ok(Some(Per::Channel(all.into())))
        }
    }
}

/// The factor of the linear function that the form rounds.
fn slope(target: &Target<'_>) -> Option<f64> {
    Some(match target.scalars.arithmetic() {
        Arithmetic::Affine(a) => ldexp(a.factor.into(), -i32::from(a.shift)),
        Arithmetic::Doubling(d) => ldexp(d.factor.into(), -i32::from(d.shift)),
        Arithmetic::Float(f) => f.scale.into(),
        Arithmetic::Double(f) => f.scale,
        Arithmetic::FloatAffine(_) | Arithmetic::Steps(_) => {
            let steps = target.thresholds.as_ref()?.steps();
            let (first, last) = (steps.first()?, steps.last()?);
            (steps.len() - 1).max(1) as f64 / last.abs_diff(*first).max(1) as f64
        }
    })
}

/// Returns the result for an accumulator of 0, which is the zero point, or `None` if 0 is outside of the domain. If
/// this result saturates, it is not the zero point, but good enough as a guess.
fn zero_point(target: &Target<'_>) -> Option<i32> {
    target.scalars.eval(0).ok()
}

/// The number that is added after the multiplication, in units of the result.
fn offset(target: &Target<'_>) -> Option<f64> {
    match target.scalars.arithmetic() {
        Arithmetic::Affine(a) => Some(ldexp(a.addend as f64, -i32::from(a.shift)) + f64::from(a.zero_point)),
        _ => zero_point(target).map(f64::from),
    }
}

/// Finds the integers of one channel, for a wanted form that computes with integers.
fn affine(target: &Target<'_>, wanted: &Wanted) -> Option<Affine> {
    let Some(thresholds) = &target.thresholds else {
        // Without thresholds, only the form's own parameters are tried, with the wanted rounding. The comparison at the
        // end decides whether they are right.
        let own = reduced(&one_rounding(target.scalars.arithmetic())?);
        return Some(Affine {
            rounding: wanted.rounding,
            ..own
        });
    };
    let (slope, out) = (slope(target)?, target.scalars.out());
    let multipliers = match wanted.kind {
        FormKind::ArithFolded => 1..=1,
        _ => wanted.limits.multipliers(),
    };
    let (first, last) = (
        *wanted.limits.shift.start(),
        (*wanted.limits.shift.end()).min(MAX_SHIFT),
    );
    let fits = |n: &u8| ldexp(slope, (*n).into()) <= *multipliers.end() as f64;
    let top = (first..=last).rev().find(fits).unwrap_or(first);
    let candidates = [top, top + 1, top.saturating_sub(1)]
        .into_iter()
        .filter(|n| (first..=last).contains(n));
    let found = candidates.filter_map(|shift| {
        let nearest = ldexp(slope, shift.into());
        // `nearest` may exceed the largest multiplier, but is at most twice as large. Clamping makes it a valid
        // multiplier.
        let around = [nearest.floor() as i128, nearest.ceil() as i128];
        let around = around.map(|m| m.clamp(*multipliers.start(), *multipliers.end()) as i32);
        let template = |factor, zero_point| Affine {
            factor,
            addend: 0,
            shift,
            rounding: wanted.rounding,
            zero_point,
        };
        match wanted.kind {
            FormKind::ArithFolded | FormKind::TfLite => {
                let zero_point = if wanted.kind == FormKind::TfLite {
                    zero_point(target)?
                } else {
                    0
                };
                let exact = exact_factors(thresholds, &template(0, zero_point), out)?;
                let (least, most) = (i128::from(*exact.start()), i128::from(*exact.end()));
                let (least, most) = (least.max(*multipliers.start()), most.min(*multipliers.end()));
                // The result lies between two i32 numbers.
                (least <= most).then(|| template(i128::from(around[0]).clamp(least, most) as i32, zero_point))
            }
            FormKind::FractionalZero | FormKind::Fixed => around.into_iter().find_map(|factor| {
                let exact = exact_addends(thresholds, &template(factor, 0), out)?;
                let natural = ldexp(offset(target)?, shift.into()).round() as i64;
                Some(Affine {
                    addend: natural.clamp(*exact.start(), *exact.end()),
                    ..template(factor, 0)
                })
            }),
            _ => None,
        }
    });
    let found = { found }.next()?;
    Some(if wanted.limits.normalized {
        found
    } else {
        shortest(found, first)
    })
}

/// Finds the scale and the zero point of one channel, for a wanted form that computes with floats.
fn float(target: &Target<'_>, wanted: &Wanted) -> Result<Option<(f32, i32)>, DecideError> {
    let (Some(slope), Some(zp)) = (slope(target), zero_point(target)) else {
        return Ok(None);
    };
    let spare = 24 - u32::from(wanted.limits.bits.min(24));
    let bits = ((slope as f32).to_bits() >> spare) << spare;
    for bits in [bits, bits.saturating_add(1 << spare), bits.saturating_sub(1 << spare)] {
        let scale = f32::from_bits(bits);
        let after = Step::from(Requantization::from(form::Float {
            scale: scale.into(),
            zp,
            out: target.scalars.out(),
        }));
        let legal = scale.is_normal()
            && after.form.domain(0).contains(&target.interval.0)
            && after.form.domain(0).contains(&target.interval.1);
        let (before, channel) = (std::slice::from_ref(target.step), target.scalars.index());
        // `after` has a single set of parameters, which serves for every channel index. Here it is compared with one
        // channel of the original form. If the comparison cannot be decided, `after` counts as not equal.
        let equal = || match equal_on(before, &[after], channel, target.interval) {
            Err(DecideError::TooManySteps { .. }) => Ok(false),
            decided => decided,
        };
        if legal && equal()? {
            return Ok(Some((scale, zp)));
        }
    }
    Ok(None)
}

fn as_float(all: &Per<(f32, i32)>, out: IntType) -> Option<Requantization> {
    let zp = all.values().first()?.1;
    let form = Requantization::from(form::Float {
        scale: all.map(|(scale, _)| *scale),
        zp,
        out,
    });
    (all.all(|(_, other)| *other == zp) && form.check().is_ok()).then_some(form)
}

/// Makes a form of the wanted kind with these integers. Returns `None` if forms of this kind cannot have them.
fn as_kind(wanted: &Wanted, all: &Per<Affine>, out: IntType) -> Option<Requantization> {
    let zp = all.values().first()?.zero_point;
    let narrowing = Narrowing {
        shift: all.map(|a| a.shift),
        rounding: wanted.rounding,
        out,
    };
    let legal = |a: &Affine| {
        let multiplies = wanted.kind != FormKind::ArithFolded;
        let width = i32::BITS - a.factor.leading_zeros();
        wanted.limits.shift.contains(&a.shift) && (!multiplies || width <= wanted.limits.bits.into())
    };
    let (factors, addends) = (all.map(|a| a.factor), all.map(|a| a.addend));
    let no_addend = addends.all(|a| *a == 0);
    let form = match wanted.kind {
        FormKind::ArithFolded if no_addend && zp == 0 && factors.all(|f| *f == 1) => {
            form::ArithFolded { narrowing }.into()
        }
        FormKind::TfLite if no_addend => form::TfLite {
            sc: factors,
            zp,
            narrowing,
        }
        .into(),
        FormKind::FractionalZero if zp == 0 => form::FractionalZero {
            sc: factors,
            zp: addends,
            narrowing,
        }
        .into(),
        FormKind::Fixed => form::Fixed {
            sc: factors,
            add: addends,
            zp,
            narrowing,
        }
        .into(),
        _ => return None,
    };
    let form: Requantization = form;
    (all.all(|a| a.zero_point == zp && legal(a)) && form.check().is_ok()).then_some(form)
}
