//! Compares two functions that never decrease, run by run. A run is a range of neighbouring integers with the same
//! result.

use super::Undecided;

/// The largest number of runs that are compared. Two functions with 16-bit results have at most this many runs
/// together.
pub(super) const MOST_RUNS: u64 = 2 * 0xFFFF;

/// How far two functions differ on an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The largest difference.
    pub(super) max_lsb: u32,
    /// The smallest integer at which the functions differ by `max_lsb`. If the functions are equal, it is the lower end
    /// of the interval.
    pub(super) witness: i64,
    /// The number of integers at which the functions differ. `of` is the number of integers in the interval.
    pub(super) differing: u128,
    pub(super) of: u128,
}

impl Difference {
    /// Adds a range of `count` integers, beginning at `from`, on which the two functions have the results `a` and `b`.
    /// Ranges must be added in ascending order.
    pub(super) fn add(&mut self, [a, b]: [i64; 2], from: i64, count: u128) {
        let lsb = u32::try_from(a.abs_diff(b)).unwrap_or(u32::MAX);
        if lsb > 0 {
            self.differing += count;
        }
        if lsb > self.max_lsb {
            (self.max_lsb, self.witness) = (lsb, from);
        }
    }
}

/// Compares two functions on an interval. The interval must not be empty, and must contain neither the smallest nor the
/// largest i64.
///
/// The comparison goes through the runs of the first function. If the second function is not constant on such a run, it
/// goes through the runs of the second function inside that run. If both functions are equal, each run takes only two
/// evaluations of the second function.
pub(super) fn compare(
    mut f: impl FnMut(i64) -> Result<i64, Undecided>,
    mut g: impl FnMut(i64) -> Result<i64, Undecided>,
    (low, high): (i64, i64),
) -> Result<Difference, Undecided> {
    let mut found = Difference {
        max_lsb: 0,
        witness: low,
        differing: 0,
        of: count(low, high),
    };
    let (mut from, mut length) = (low, 1);
    let mut before = [i64::MIN; 2];
    loop {
        let (a, mut b) = (f(from)?, g(from)?);
        if a < before[0] || b < before[1] {
            return Err(Undecided::Decreases(from));
        }
        let end = end_of_run(&mut f, a, (from, high), length)?;
        length = end.abs_diff(from);
        let mut part = from;
        loop {
            let last = end_of_run(&mut g, b, (part, end), end.abs_diff(part))?;
            found.add([a, b], part, count(part, last));
            if last == end {
                break;
            }
            part = last + 1;
            let next = g(part)?;
            if next < b {
                return Err(Undecided::Decreases(part));
            }
            b = next;
        }
        if end == high {
            return Ok(found);
        }
        (before, from) = ([a, b], end + 1);
    }
}

fn count(low: i64, high: i64) -> u128 {
    u128::from(high.abs_diff(low)) + 1
}

/// The function has the result `value` at `from`. Finds the last integer, at most `high`, up to which the function
/// keeps this result. The search first looks at the integer `guess` after `from`, then takes growing steps, and finally
/// bisects between the last two integers. The result is exact for every guess.
fn end_of_run(
    f: &mut impl FnMut(i64) -> Result<i64, Undecided>,
    value: i64,
    (from, high): (i64, i64),
    guess: u64,
) -> Result<i64, Undecided> {
    // At `yes` the function still has the result `value`, and at `no` it does not. If the function has this result up
    // to `high`, `no` is `high + 1`.
    let (mut yes, mut no) = (from, high + 1);
    let first = from.saturating_add_unsigned(guess.max(1)).min(high);
    let mut step = 1u64;
    if first > from && f(first)? == value {
        yes = first;
        while yes < high {
            let next = yes.saturating_add_unsigned(step).min(high);
            if f(next)? != value {
                no = next;
                break;
            }
            (yes, step) = (next, step.saturating_mul(2));
        }
    } else if first > from {
        no = first;
        while no.abs_diff(yes) > 1 {
            let next = no.saturating_sub_unsigned(step).max(yes + 1);
            if f(next)? == value {
                yes = next;
                break;
            }
            (no, step) = (next, step.saturating_mul(2));
        }
    }
    while no.abs_diff(yes) > 1 {
        let middle = yes.saturating_add_unsigned(no.abs_diff(yes) / 2);
        if f(middle)? == value {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Ok(yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Finds the difference of two functions by evaluating both at every integer.
    fn swept(f: impl Fn(i64) -> i64, g: impl Fn(i64) -> i64, (low, high): (i64, i64)) -> Difference {
        let mut found = Difference {
            max_lsb: 0,
            witness: low,
            differing: 0,
            of: count(low, high),
        };
        for x in low..=high {
            found.add([f(x), g(x)], x, 1);
        }
        found
    }

    #[test]
    fn runs_say_what_every_place_says() {
        let mut random = Random::new(8);
        let mut below = |n: u64| (random.bits() % n) as i64;
        for _ in 0..2_000 {
            let (low, width) = (below(2_000) - 1_000, below(1_500));
            let interval = (low, low + width);
            let mut line = || {
                let (factor, shift, addend) = (below(40), below(8), below(400) - 200);
                let (least, most) = (below(100) - 120, below(200));
                move |x: i64| ((x * factor + addend) >> shift).clamp(least, most)
            };
            let (f, g) = (line(), line());
            let found = compare(|x| Ok(f(x)), |x| Ok(g(x)), interval).unwrap();
            assert_eq!(found, swept(f, g, interval));
            assert_eq!(
                compare(|x| Ok(f(x)), |x| Ok(f(x)), interval).unwrap(),
                swept(f, f, interval)
            );
        }
    }

    #[test]
    fn a_run_to_the_end_and_a_run_of_one_place_are_found_whatever_the_guess() {
        for guess in [0, 1, 5, 1 << 40, u64::MAX] {
            let end = |edge: i64, high| end_of_run(&mut |x| Ok(i64::from(x >= edge)), 0, (0, high), guess).unwrap();
            assert_eq!(end(1, 100), 0);
            assert_eq!(end(77, 100), 76);
            assert_eq!(end(1 << 41, 1 << 40), 1 << 40);
            assert_eq!(end(1, 0), 0);
        }
    }

    #[test]
    fn a_function_that_decreases_is_not_decided() {
        let found = compare(|x| Ok(-x), |_| Ok(0), (0, 3));
        assert_eq!(found, Err(Undecided::Decreases(1)));
        let within = compare(|_| Ok(0), |x| Ok(-x), (0, 3));
        assert_eq!(within, Err(Undecided::Decreases(1)));
    }
}
