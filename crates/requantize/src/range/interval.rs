//! Interval arithmetic. Both ends belong to an interval. A lower end of `i64::MIN` means that the interval may also
//! contain smaller numbers, and an upper end of `i64::MAX` that it may also contain larger ones. An end that has left
//! the range of `i64` in this way never returns into it when other intervals are added.

use super::saturate;

/// Stands for an end beyond the range of i64. It is so large that adding i64 numbers does not bring it back into this
/// range, but the sum of two such numbers still fits into i128.
const BEYOND: i128 = 1 << 100;

/// The ends of an interval as i128. `i64::MIN` and `i64::MAX` become numbers far outside the range of i64, because they
/// also stand for all numbers beyond them.
pub(super) fn open((low, high): (i64, i64)) -> (i128, i128) {
    let low = if low == i64::MIN { -BEYOND } else { low.into() };
    let high = if high == i64::MAX { BEYOND } else { high.into() };
    (low, high)
}

fn closed((low, high): (i128, i128)) -> (i64, i64) {
    (saturate(low), saturate(high))
}

/// The interval that contains every sum of a number from `a` and a number from `b`.
pub fn add(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    let (a, b) = (open(a), open(b));
    closed((a.0 + b.0, a.1 + b.1))
}

/// The interval that contains every difference of a number from `a` and a number from `b`.
pub fn subtract(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    let (a, b) = (open(a), open(b));
    closed((a.0 - b.1, a.1 - b.0))
}

/// The interval that contains every product of a number from `a` and a number from `b`. Its ends are products of ends
/// of `a` and `b`.
pub fn multiply(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    let (a, b) = (open(a), open(b));
    let corners = [a.0, a.1].map(|x| [x.saturating_mul(b.0), x.saturating_mul(b.1)]);
    let [[p, q], [r, s]] = corners;
    closed((p.min(q).min(r).min(s), p.max(q).max(r).max(s)))
}

/// The interval that contains every sum of `count` numbers from `a`.
pub fn repeat(a: (i64, i64), count: u64) -> (i64, i64) {
    let (low, high) = open(a);
    closed((low.saturating_mul(count.into()), high.saturating_mul(count.into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn intervals_hold_all_results_and_no_more(a in -9i64..9, b in 0i64..6, c in -9i64..9, d in 0i64..6, n in 1u64..4) {
            let (x, y) = ((a, a + b), (c, c + d));
            let all = |f: fn(i64, i64) -> i64| {
                let results = (x.0..=x.1).flat_map(|p| (y.0..=y.1).map(move |q| f(p, q)));
                let results: Vec<i64> = results.collect();
                (*results.iter().min().unwrap(), *results.iter().max().unwrap())
            };
            prop_assert_eq!(add(x, y), all(|p, q| p + q));
            prop_assert_eq!(subtract(x, y), all(|p, q| p - q));
            prop_assert_eq!(multiply(x, y), all(|p, q| p * q));
            prop_assert_eq!(repeat(x, n), (x.0 * n as i64, x.1 * n as i64));
        }
    }

    #[test]
    fn ends_past_the_type_stay_at_its_ends() {
        let all = (i64::MIN, i64::MAX);
        assert_eq!(add(all, (-1, 1)), all);
        assert_eq!(subtract(all, (-1, 1)), all);
        assert_eq!(multiply(all, (-2, 1)), all);
        assert_eq!(repeat(all, u64::MAX), all);
        assert_eq!(multiply((i64::MIN, 5), (-1, -1)), (-5, i64::MAX));
        assert_eq!(multiply(all, (0, 0)), (0, 0));
        // An end that has left the type stays at the end of the type, whatever is added later.
        let past = add((0, i64::MAX - 1), (0, 2));
        assert_eq!(past, (0, i64::MAX));
        assert_eq!(add(past, (-9, -9)), (-9, i64::MAX));
        assert_eq!(subtract(repeat((i64::MIN / 2, 0), 3), (-9, -9)), (i64::MIN, 9));
    }
}
