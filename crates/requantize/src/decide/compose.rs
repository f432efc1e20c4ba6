//! Combines two requantizations that follow each other into one.

use super::{
    activation::{Behind, common},
    normal::{bias, one_rounding, reduced},
    thresholds::{DecideError, common_channels},
};
use crate::{
    Narrowing, Per, Requantization, Rounding, Step,
    form::{Affine, Fixed, MAX_ADDEND, MAX_SHIFT},
    step::{clamp, clamp_twice},
};

/// Combines two multiply-shift forms into one that rounds once. Returns `None` if that is not possible.
///
/// The result is equal to `first` followed by `second` for all accumulators for which `first` neither saturates nor
/// leaves its domain. [`compare`](crate::decide::compare) decides whether the results are equal on an interval, and
/// [`compose_steps`] handles saturation as well. Common powers of two are cancelled first, so that a multiplication by
/// one is a plain shift. The two forms have the multipliers m1 and m2, the addends a1 and a2, the shifts s1 and s2, and
/// the zero points z1 and z2. With p = x m1 + a1, the following cases can be combined:
///
/// - s1 = 0, so that the first form does not round: (p + z1) m2 + a2 = x (m1 m2) + (a1 + z1) m2 + a2.
/// - s2 = 0 and m2 = 1, so that the second form does not round: the zero point becomes z1 + a2 + z2.
/// - m2 = 1, and both round down after adding b1 and b2 (0, 2^s - 1, 2^(s-1) or 2^(s-1) - 1, with s = s1 for b1 and s =
///   s2 for b2): floor((floor((p + b1) / 2^s1) + z1 + a2 + b2) / 2^s2) = floor((p + b1 + (z1 + a2 + b2) 2^s1) /
///   2^(s1 + s2)).
/// - m2 = 1, z1 + a2 = 0, and both forms round towards zero.
///
/// `first` must not contain a ReLU or another limit inside the range of its type, because the combined form does not
/// apply this limit.
pub fn compose(first: &Requantization, second: &Requantization) -> Option<Requantization> {
    let out = second.out();
    if second.range() == [out.min(), out.max()] {
        joined(first, second)
    } else {
        None
    }
}

/// Combines two forms into one form that saturates to the second form's type. Returns `None` if that is not possible.
fn joined(first: &Requantization, second: &Requantization) -> Option<Requantization> {
    let (a, b) = (scalars(first)?, scalars(second)?);
    // If a form does not round, its rounding mode does not matter.
    let rounds = |all: &Per<Affine>| all.values().iter().find(|a| a.shift > 0).map(|a| a.rounding);
    let rounding = rounds(&b).or(rounds(&a)).unwrap_or(Rounding::Floor);
    let join = |a: &Affine, b: &Affine| join(a, b, rounding);
    let all: Per<Affine> = match (&a, &b) {
        (Per::Tensor(a), b) => b.try_map(|b| join(a, b).ok_or(())).ok()?,
        (a, Per::Tensor(b)) => a.try_map(|a| join(a, b).ok_or(())).ok()?,
        (Per::Channel(a), Per::Channel(b)) if a.len() == b.len() => {
            Per::Channel(a.iter().zip(b.iter()).map(|(a, b)| join(a, b)).collect::<Option<_>>()?)
        }
        _ => return None,
    };
    let zp = all.values().first()?.zero_point;
    let form = Requantization::from(Fixed {
        sc: all.map(|a| a.factor),
        add: all.map(|a| a.addend),
        zp,
        narrowing: Narrowing {
            shift: all.map(|a| a.shift),
            rounding,
            out: second.out(),
        },
    });
    (all.all(|a| a.zero_point == zp) && form.check().is_ok()).then_some(form)
}

/// Combines two steps into one step that gives the same results on the interval of each channel, saturation and clamps
/// included. Returns `None` if the forms cannot be combined, or if the combined step would need a different clamp for
/// each channel.
///
/// The first step saturates or clamps its results to a range [a, b]. The combined step instead clamps its own results
/// to [S(a), S(b)], where S is the second step. This clamp is left out if the combined form never leaves [S(a), S(b)]
/// on the interval.
///
/// # Errors
/// The interval lies outside of the combined form's domain.
pub fn compose_steps(first: &Step, second: &Step, interval: &Per<(i64, i64)>) -> Result<Option<Step>, DecideError> {
    let Some(form) = joined(&first.form, &second.form) else {
        return Ok(None);
    };
    let limits = first.form.range().map(|end| clamp(end, first.clamp));
    let step = Step::from(form);
    let ends = |channel: usize, (low, high): (i64, i64)| {
        let (one, scalars) = (step.form.channel(channel)?, second.form.channel(channel)?);
        let domain = scalars.domain();
        // If an end of the first step's results is outside of the domain of the second step, the nearest end of this
        // domain is used, because the second step has no result outside.
        let at = |end: i32| scalars.eval(i64::from(end).clamp(*domain.start(), *domain.end()));
        let open = [one.eval(low)?, one.eval(high)?];
        let closed = [open[0].max(at(limits[0])?), open[1].min(at(limits[1])?)];
        Ok((open, closed))
    };
    let moved = match common(common_channels([&step], interval)?, interval, second.out(), ends)? {
        Behind::Redundant => None,
        Behind::Clamp(ends) => Some(ends),
        Behind::PerChannel { .. } | Behind::NotAClamp => return Ok(None),
    };
    let clamp = clamp_twice(moved, second.clamp);
    Ok(Some(Step { clamp, ..step }))
}

/// Returns the integers of each channel, with common powers of two cancelled. Returns `None` if the form does not round
/// once.
fn scalars(form: &Requantization) -> Option<Per<Affine>> {
    let at = |channel| Some(reduced(&one_rounding(form.channel(channel).ok()?.arithmetic())?));
    match form.channels() {
        None => Some(Per::Tensor(at(0)?)),
        Some(count) => (0..count).map(at).collect::<Option<_>>().map(Per::Channel),
    }
}

/// Combines one channel of both forms. `rounding` is the rounding of the combined form.
fn join(a: &Affine, b: &Affine, rounding: Rounding) -> Option<Affine> {
    let between = i128::from(a.zero_point) + i128::from(b.addend);
    let shift = a.shift + b.shift;
    let (factor, addend, zero_point) = if a.shift == 0 {
        let before = i128::from(a.addend) + i128::from(a.zero_point);
        let addend = before.checked_mul(b.factor.into())? + i128::from(b.addend);
        (a.factor.checked_mul(b.factor)?, addend, b.zero_point.into())
    } else if b.factor != 1 {
        return None;
    } else if b.shift == 0 && rounding == a.rounding {
        (a.factor, a.addend.into(), between + i128::from(b.zero_point))
    } else if let (Some(first), Some(second), Some(both)) = (
        bias(a.rounding, a.shift),
        bias(b.rounding, b.shift),
        bias(rounding, shift),
    ) {
        let addend = i128::from(a.addend) + first + ((between + second) << a.shift) - both;
        (a.factor, addend, b.zero_point.into())
    } else if [a.rounding, b.rounding, rounding] == [Rounding::TowardZero; 3] && between == 0 {
        (a.factor, a.addend.into(), b.zero_point.into())
    } else {
        return None;
    };
    let addend = i64::try_from(addend).ok()?;
    let legal = shift <= MAX_SHIFT && (-MAX_ADDEND..=MAX_ADDEND).contains(&addend);
    legal.then_some(Affine {
        factor,
        addend,
        shift,
        rounding,
        zero_point: i32::try_from(zero_point).ok()?,
    })
}
