//! Finds the integers with which a form is exactly equal to a given function. Each threshold of the function limits the
//! integers to an interval.

use super::thresholds::Thresholds;
use crate::{IntType, form::Affine};
use std::ops::RangeInclusive;

/// Lists the conditions under which a form is equal to a function. A function reaches k at x if its result for x is at
/// least k. Let T_k be the first accumulator at which the function reaches k. The form has to reach k at T_k, and must
/// not reach k at T_k - 1. At the lower end of the interval, the form's result must not be below the function's result.
/// At the upper end, the form's result must not be above the function's result. A condition at an end is left out if
/// the function's result at this end is the smallest or the largest code of the type, because saturation ensures the
/// condition.
///
/// `each` is called with `(x, k, true)` if the form must reach k at x, and with `(x, k, false)` if it must not. `each`
/// returns false to stop the listing.
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

/// Finds all factors with which `form`, saturated to `out`, is equal to the function `target` on its interval. The
/// other parameters of `form` do not change. Returns `None` if there are no such factors.
///
/// Let B_k be the smallest value of x factor + addend for which the form's result is at least k. The form reaches k at
/// x if x factor + addend >= B_k. For x > 0 this condition is a lower bound of the factor, and for x < 0 an upper
/// bound.
pub fn exact_factors(target: &Thresholds, form: &Affine, out: IntType) -> Option<RangeInclusive<i32>> {
    let (mut least, mut most) = (0i128, i128::from(i32::MAX));
    let feasible = demands(target, out, |x, k, reaches| {
        let bound = first_quotient(form, k) - i128::from(form.addend);
        // The condition is x f >= bound, or x f <= bound - 1, which is -x f >= 1 - bound.
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
    // Both bounds lie in 0 ..= i32::MAX, so they fit into i32.
    feasible.then_some(least as i32..=most as i32)
}

/// The addends with which `form` is exactly the function `target`. The other parameters of `form` do not change.
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
    // Neither bound has a larger magnitude than the largest addend, so both fit into i64.
    feasible.then_some(least as i64..=most as i64)
}

/// The smallest p for which the form computes round(p / 2^shift) + zero_point >= k.
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
