//! Which integers of a form make exactly a given function: each threshold confines them to an interval.

use super::thresholds::Thresholds;
use crate::{IntType, form::Affine};
use std::ops::RangeInclusive;

/// The accumulators where a function steps, and what a form has to be there: with T_k the first that reaches k, it has to
/// reach k at T_k and not at T_k - 1. At the ends of the interval it must neither be below nor step on; where it saturates
/// there, it may.
///
/// `each` is given `(x, k, true)` for "at x the form reaches k" and `(x, k, false)` for "it does not".
fn demands(target: &Thresholds, out: IntType, mut each: impl FnMut(i64, i64, bool) -> bool) -> bool {
    let (low, high) = target.interval();
    let (lowest, highest) = (i64::from(target.lowest()), i64::from(target.highest()));
    if lowest < i64::from(out.min()) || highest > i64::from(out.max()) {
        return false;
    }
    (lowest == i64::from(out.min()) || each(low, lowest, true))
        && (highest == i64::from(out.max()) || each(high, highest + 1, false))
        && (target.steps().iter().zip(lowest + 1..)).all(|(&t, k)| each(t, k, true) && each(t - 1, k, false))
}

/// The factors for which `form` with its other parameters is exactly the function that `target` holds, saturated to `out`;
/// `None` where there is none.
///
/// With B_k the first quotient that rounds to k less the zero point, the form reaches k at x where
/// x factor + addend >= B_k: a lower bound of the factor for x > 0, an upper one for x < 0.
pub fn exact_factors(target: &Thresholds, form: &Affine, out: IntType) -> Option<RangeInclusive<i32>> {
    let (mut least, mut most) = (0i128, i128::from(i32::MAX));
    let feasible = demands(target, out, |x, k, reaches| {
        let bound = first_quotient(form, k) - i128::from(form.addend);
        // x f >= bound, or x f <= bound - 1, that is -x f >= 1 - bound.
        let (x, bound) = if reaches {
            (i128::from(x), bound)
        } else {
            (-i128::from(x), 1 - bound)
        };
        match x {
            0 => bound <= 0,
            1.. => {
                least = least.max(-divide(-bound, x));
                least <= most
            }
            _ => {
                most = most.min(divide(-bound, -x));
                least <= most
            }
        }
    });
    // Both lie in 0 ..= i32::MAX.
    feasible.then_some(least as i32..=most as i32)
}

/// The addends for which `form` with its other parameters is exactly the function that `target` holds.
pub fn exact_addends(target: &Thresholds, form: &Affine, out: IntType) -> Option<RangeInclusive<i64>> {
    let limit = i128::from(crate::form::MAX_ADDEND);
    let (mut least, mut most) = (-limit, limit);
    let feasible = demands(target, out, |x, k, reaches| {
        let rest = first_quotient(form, k) - i128::from(x) * i128::from(form.factor);
        if reaches {
            least = least.max(rest);
        } else {
            most = most.min(rest - 1);
        }
        least <= most
    });
    // Both lie within the largest addend.
    feasible.then_some(least as i64..=most as i64)
}

/// The smallest p with round(p / 2^s) + zero_point >= k.
fn first_quotient(form: &Affine, k: i64) -> i128 {
    form.rounding
        .least_reaching(i128::from(k) - i128::from(form.zero_point), form.shift)
}

/// floor(a / b) for b > 0.
fn divide(a: i128, b: i128) -> i128 {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => a.div_euclid(b).into(),
        _ => a.div_euclid(b),
    }
}
