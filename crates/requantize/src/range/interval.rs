//! Arithmetic of intervals, both ends included. Ends past `i64` stay at its ends.

/// Interval of the sum of two values.
pub fn add(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

/// Interval of the difference of two values.
pub fn subtract(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    (a.0.saturating_sub(b.1), a.1.saturating_sub(b.0))
}

/// Interval of the product of two values: the extremes lie at corners.
pub fn multiply(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    let corners = [a.0, a.1].map(|x| [x.saturating_mul(b.0), x.saturating_mul(b.1)]);
    let [[p, q], [r, s]] = corners;
    (p.min(q).min(r).min(s), p.max(q).max(r).max(s))
}

/// Interval of a sum of `count` such values.
pub fn repeat(a: (i64, i64), count: u64) -> (i64, i64) {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    (a.0.saturating_mul(count), a.1.saturating_mul(count))
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
    }
}
