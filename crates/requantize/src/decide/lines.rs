//! Compares two linear functions that are rounded down. Finds by how much, how often and where their results differ,
//! without computing the results for each integer.
//!
//! With a common divisor 2^S, the functions are a(x) = (x F_a + A_a) / 2^S and b(x) = (x F_b + A_b) / 2^S before they
//! are rounded. The gap between them, a(x) - b(x), is linear in x too. On a range of x where the gap lies in [k, k +
//! 1), the rounded gap floor(a) - floor(b) is k or k + 1. The sum of all rounded gaps on the range, Σ floor(a) - Σ
//! floor(b), shows how often the rounded gap is k + 1. Each of the two sums counts the lattice points below a line, for
//! which a variant of Euclid's algorithm is fast.

use crate::decide::difference::Deviation;

/// A linear function that is rounded down: `floor((x * factor + addend) / 2^shift)`. Either `factor` is odd or `shift`
/// is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Floor {
    pub(super) factor: i64,
    pub(super) addend: i128,
    pub(super) shift: u8,
}

/// If the results of two functions are farther apart than this, [`differ`] does not compare the functions, because it
/// processes the range of x for each difference k separately.
pub(super) const MOST_STRETCHES: u32 = 64;
/// A bound for the numbers from which sums are computed. Within this bound, no product exceeds 128 bits.
const MOST: i128 = 1 << 62;

impl Floor {
    pub(super) fn new(factor: i64, addend: i128, shift: u8) -> Floor {
        let shared = factor.trailing_zeros().min(shift.into());
        Floor {
            factor: factor >> shared,
            addend: addend >> shared,
            // `shared` is at most the shift, so it fits into u8.
            shift: shift - shared as u8,
        }
    }

    #[cfg(test)]
    pub(super) fn eval(&self, x: i64) -> i128 {
        (i128::from(x) * i128::from(self.factor) + self.addend) >> self.shift
    }

    /// The function before rounding, as (x F + A) 2^-shift. Returns F and A, or `None` if these numbers are too large.
    fn line(&self, shift: u8) -> Option<(i128, i128)> {
        let unit = 1i128.checked_shl((shift - self.shift).into())?;
        let (factor, addend) = (
            i128::from(self.factor).checked_mul(unit)?,
            self.addend.checked_mul(unit)?,
        );
        (factor.abs() <= MOST && addend.unsigned_abs() < 1 << 120).then_some((factor, addend))
    }
}

/// Adds the difference of two functions on an interval to `found`, which already covers all smaller accumulators.
/// Returns `None` if the functions are too far apart or their parameters are too large.
pub(super) fn differ(a: &Floor, b: &Floor, (low, high): (i64, i64), found: &mut Deviation) -> Option<()> {
    let shift = a.shift.max(b.shift);
    let unit = 1i128.checked_shl(shift.into()).filter(|unit| *unit <= 1 << 110)?;
    let (a, b) = (a.line(shift)?, b.line(shift)?);
    let (slope, offset) = (a.0 - b.0, a.1 - b.1);
    let gap = |x: i128| (x * slope + offset).div_euclid(unit);
    let (mut from, end) = (i128::from(low), i128::from(high));
    if end - from > MOST || from.abs().max(end.abs()) > 1 << 56 && slope != 0 {
        return None;
    }
    for _ in 0..MOST_STRETCHES {
        // The last x of the range. For a rising gap, x slope + offset is below (k + 1) unit up to this x. For a falling
        // gap, it is at least k unit up to this x.
        let k = gap(from);
        let last = match slope {
            0 => end,
            1.. => ((k + 1) * unit - 1 - offset).div_euclid(slope).min(end),
            _ => (offset - k * unit).div_euclid(-slope).min(end),
        };
        stretch([a, b], (from, last), unit, k, found)?;
        if last == end {
            return Some(());
        }
        from = last + 1;
    }
    None
}

/// Adds the differences on a range of x on which the functions differ by k or k + 1.
fn stretch(
    [a, b]: [(i128, i128); 2],
    (low, high): (i128, i128),
    unit: i128,
    k: i128,
    found: &mut Deviation,
) -> Option<()> {
    let count = high - low + 1;
    let near = u32::try_from(if k >= 0 { k } else { -k - 1 }).ok()?;
    // Each difference is k or k + 1. The farther difference is the one of these two with the larger magnitude. The
    // closure returns at how many of the first n integers of the range the farther difference occurs.
    let farther = |n: i128| {
        let sum = sum(a, low, n, unit)?.checked_sub(sum(b, low, n, unit)?)?;
        Some(if k >= 0 { sum - k * n } else { (k + 1) * n - sum })
    };
    let more = farther(count)?;
    found.add(near, low as i64, (count - more).unsigned_abs());
    if more == 0 {
        return Some(());
    }
    let (mut none, mut some) = (0, count);
    // The position of the difference is needed only if this difference is larger than all differences before it.
    while near >= found.max_lsb && some - none > 1 {
        let middle = none + (some - none) / 2;
        if farther(middle)? > 0 {
            some = middle;
        } else {
            none = middle;
        }
    }
    // All integers of the range are i64.
    found.add(near.checked_add(1)?, (low + none) as i64, more.unsigned_abs());
    Some(())
}

/// Σ floor((x F + A) / unit) for the n integers x beginning at `low`.
fn sum((factor, addend): (i128, i128), low: i128, n: i128, unit: i128) -> Option<i128> {
    let first = low.checked_mul(factor)?.checked_add(addend)?;
    // Splits off the whole parts of the first value and of the difference between neighbouring values.
    let (each, step) = (first.div_euclid(unit), factor.div_euclid(unit));
    let whole = (n.checked_mul(each)?).checked_add((n * (n - 1) / 2).checked_mul(step)?)?;
    let rest = floor_sum(
        n.unsigned_abs(),
        unit.unsigned_abs(),
        factor.rem_euclid(unit).unsigned_abs(),
        first.rem_euclid(unit).unsigned_abs(),
    )?;
    whole.checked_add(i128::try_from(rest).ok()?)
}

/// Σ floor((i a + b) / m) for i = 0 .. n. a and b must be below m. `None` if the sum exceeds 128 bits.
fn floor_sum(mut n: u128, mut m: u128, mut a: u128, mut b: u128) -> Option<u128> {
    let mut sum = 0u128;
    loop {
        // After a few rounds, the numbers are small enough for divisions of 64 bits, which are much faster.
        if let [Ok(n), Ok(m), Ok(a), Ok(b)] = [n, m, a, b].map(u64::try_from) {
            return sum.checked_add(short_floor_sum(n, m, a, b)?);
        }
        let whole = (n * n.saturating_sub(1) / 2).checked_mul(a / m)?;
        sum = sum.checked_add(whole)?.checked_add(n.checked_mul(b / m)?)?;
        (a, b) = (a % m, b % m);
        let top = a.checked_mul(n)?.checked_add(b)?;
        if top < m {
            return Some(sum);
        }
        // From here on, the lattice points below the line are counted by rows instead of by columns.
        (n, b) = (top / m, top % m);
        (m, a) = (a, m);
    }
}

/// [`floor_sum`] of numbers that have 64 bits. a and b may have any size.
fn short_floor_sum(mut n: u64, mut m: u64, mut a: u64, mut b: u64) -> Option<u128> {
    let mut sum = 0u128;
    loop {
        if a >= m {
            let pairs = u128::from(n) * u128::from(n.saturating_sub(1)) / 2;
            sum = sum.checked_add(pairs.checked_mul((a / m).into())?)?;
            a %= m;
        }
        if b >= m {
            sum = sum.checked_add(u128::from(n) * u128::from(b / m))?;
            b %= m;
        }
        // a is below m, so the quotient is at most n.
        let top = u128::from(a) * u128::from(n) + u128::from(b);
        let (quotient, rest) = match u64::try_from(top) {
            Ok(top) => (top / m, top % m),
            Err(_) => ((top / u128::from(m)) as u64, (top % u128::from(m)) as u64),
        };
        if quotient == 0 {
            return Some(sum);
        }
        (n, b) = (quotient, rest);
        (m, a) = (a, m);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lattice_points_are_counted(n in 0u32..200, m in 1u128..1000, a in 0u128..1000, b in 0u128..2000) {
            let (a, b) = (a % m, b % m);
            let expect: u128 = (0..u128::from(n)).map(|i| (i * a + b) / m).sum();
            prop_assert_eq!(floor_sum(n.into(), m, a, b), Some(expect));
        }

        #[test]
        fn short_and_long_numbers_have_the_same_sum(n in 0u64..1 << 20, m in 1u64.., a in 0u64.., b in 0u64.., by in 0u32..60) {
            let [m, a, b] = [(m >> by).max(1), a >> by, b >> by].map(u128::from);
            // With a common factor the numbers do not fit into 64 bits, and the sum stays the same.
            let long = floor_sum(n.into(), m << 40, (a % m) << 40, (b % m) << 40);
            prop_assert_eq!(floor_sum(n.into(), m, a % m, b % m), long);
        }

        #[test]
        fn lines_differ_as_their_values_do(
            factors: [i16; 2], addends: [i16; 2], shifts in [0u8..16, 0u8..16], low in -300i64..300, width in 0i64..400,
        ) {
            let line = |i: usize| Floor::new(factors[i].into(), addends[i].into(), shifts[i]);
            let (a, b, high) = (line(0), line(1), low + width);
            let mut expect = Deviation::none((low, high));
            (low..=high).for_each(|x| expect.add((a.eval(x) - b.eval(x)).unsigned_abs() as u32, x, 1));
            let mut found = Deviation::none((low, high));
            match differ(&a, &b, (low, high), &mut found) {
                Some(()) => prop_assert_eq!(found, expect),
                // The difference takes too many values. They lie on both sides of 0, so the largest magnitude is at
                // least about half of their number.
                None => prop_assert!(expect.max_lsb >= MOST_STRETCHES / 2 - 1),
            }
        }
    }
}
