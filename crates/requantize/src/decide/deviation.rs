//! Compares two chains of steps: decides whether they are equal and, if not, finds by how much, where and how often
//! they differ.

use super::{
    Verdict, normal,
    thresholds::{Chain, DecideError, Thresholds, common_channels, few_steps},
};
use crate::decide::difference::Deviation;
use crate::{Per, Step};

impl From<Deviation> for Verdict {
    fn from(deviation: Deviation) -> Verdict {
        match deviation.max_lsb {
            0 => Verdict::Exact,
            max_lsb => Verdict::Bounded {
                max_lsb,
                witness: deviation.witness,
                share: deviation.share(),
            },
        }
    }
}

/// True if the chains `a` and `b` give equal results for every accumulator of `interval` (both ends included).
///
/// # Errors
/// Errors of [`deviation`]. If it cannot be decided whether the results are equal, this is an error too.
pub fn equal_on(a: &[Step], b: &[Step], channel: usize, interval: (i64, i64)) -> Result<bool, DecideError> {
    let (a, b) = (Chain::new(a, channel)?, Chain::new(b, channel)?);
    let ends = [a.ends(interval)?, b.ends(interval)?];
    if are_alike(&a, &b, ends, interval) {
        return Ok(true);
    }
    match (few_steps(ends[0]), few_steps(ends[1])) {
        // Stops at the first threshold that differs.
        (Ok(()), Ok(())) => Ok(ends[0] == ends[1]
            && (i64::from(ends[0][0]) + 1..=i64::from(ends[0][1])).all(|k| a.least_reaching(k) == b.least_reaching(k))),
        (Err(error), _) | (_, Err(error)) => {
            let found = normal::deviation((&a, ends[0]), (&b, ends[1]), interval);
            Ok(found.ok_or(error)?.max_lsb == 0)
        }
    }
}

/// Measures the difference of two chains of steps on `interval` (both ends included). If both chains have the same
/// steps, or the same parameters after normalisation, they do not differ. Otherwise their thresholds are compared. If
/// there are many thresholds, such as 65 535 for 16-bit results, they are computed during the comparison and not
/// stored.
///
/// # Errors
/// The interval does not lie inside the domain of the first steps, or a result does not lie inside the domain of the
/// next step. [`DecideError::TooManySteps`] if there are more than [`MAX_STEPS`](super::MAX_STEPS) thresholds (for
/// results of 32 bits) and the chains cannot be compared by their parameters alone.
pub fn deviation(a: &[Step], b: &[Step], channel: usize, interval: (i64, i64)) -> Result<Deviation, DecideError> {
    let (a, b) = (Chain::new(a, channel)?, Chain::new(b, channel)?);
    let ends = [a.ends(interval)?, b.ends(interval)?];
    if are_alike(&a, &b, ends, interval) {
        return Ok(Deviation::none(interval));
    }
    if let Some(found) = normal::deviation((&a, ends[0]), (&b, ends[1]), interval) {
        return Ok(found);
    }
    few_steps(ends[0]).and(few_steps(ends[1]))?;
    Ok(between(
        (interval, ends[0][0], a.sweep(ends[0])),
        (interval, ends[1][0], b.sweep(ends[1])),
    ))
}

/// True if both chains have equal steps, or equal parameters after normalisation.
fn are_alike(a: &Chain<'_>, b: &Chain<'_>, ends: [[i32; 2]; 2], interval: (i64, i64)) -> bool {
    a.is_same(b) || (ends[0] == ends[1] && normal::are_equal(a, b, interval))
}

/// Compares a chain of steps with a step that will replace it, on `interval` (both ends included).
///
/// # Errors
/// Errors of [`deviation`]. But if it cannot be decided whether the results are equal, the verdict is
/// [`Verdict::Unknown`].
pub fn compare(before: &[Step], after: &Step, channel: usize, interval: (i64, i64)) -> Result<Verdict, DecideError> {
    match deviation(before, std::slice::from_ref(after), channel, interval) {
        Ok(deviation) => Ok(deviation.into()),
        Err(DecideError::TooManySteps { .. }) => Ok(Verdict::Unknown),
        Err(error) => Err(error),
    }
}

/// Calls [`compare`] for every channel. Returns one verdict for each channel. If neither the steps nor the interval
/// have channels, returns a single verdict.
pub fn verdicts(before: &[Step], after: &Step, interval: &Per<(i64, i64)>) -> Result<Per<Verdict>, DecideError> {
    let steps = || before.iter().chain([after]);
    steps().try_for_each(Step::check)?;
    let same_steps = steps().all(|step| step.form.channels().is_none());
    let count = match (common_channels(steps(), interval)?, interval) {
        (None, Per::Tensor(interval)) => return Ok(Per::Tensor(compare(before, after, 0, *interval)?)),
        (count, _) => count.unwrap_or(0),
    };
    let at = |channel| {
        let missing = DecideError::Channels {
            expected: count,
            found: channel,
        };
        interval.get(channel).copied().ok_or(missing)
    };
    if before == std::slice::from_ref(after) {
        // Two chains with the same steps compute the same function, so their thresholds need not be compared, however
        // many there are. It only has to be checked that the function is defined on the interval.
        let defined = |channel| {
            let (low, high) = at(channel)?;
            if low > high {
                return Err(DecideError::Interval(low, high));
            }
            let form = after.form.channel(channel)?;
            form.eval(low).and(form.eval(high))?;
            Ok(Verdict::Exact)
        };
        return (0..count).map(defined).collect::<Result<_, _>>().map(Per::Channel);
    }
    // If the functions are equal on the smallest interval that contains the intervals of all channels, they are equal
    // on each of these intervals.
    let low = interval.values().iter().map(|i| i.0).min();
    let high = interval.values().iter().map(|i| i.1).max();
    if let (true, Some(low), Some(high)) = (same_steps, low, high)
        && interval.all(|i| i.0 <= i.1)
        && compare(before, after, 0, (low, high)) == Ok(Verdict::Exact)
    {
        return Ok(std::iter::repeat_n(Verdict::Exact, count).collect());
    }
    let of = |channel| compare(before, after, channel, at(channel)?);
    (0..count).map(of).collect::<Result<_, _>>().map(Per::Channel)
}

/// Compares two functions that are given by their thresholds on an interval. If the intervals differ, the functions are
/// compared on the part that both intervals contain.
pub fn difference(before: &Thresholds, after: &Thresholds) -> Verdict {
    listed(before, after).into()
}

/// Like [`difference`], but returns counts of accumulators instead of a verdict.
pub(crate) fn listed(before: &Thresholds, after: &Thresholds) -> Deviation {
    if before == after {
        return Deviation::none(before.interval());
    }
    between(
        (before.interval(), before.lowest(), before.steps().iter().copied()),
        (after.interval(), after.lowest(), after.steps().iter().copied()),
    )
}

/// A function, given by its interval, its result at the lower end, and its thresholds in rising order.
pub(super) type Listed<I> = ((i64, i64), i32, I);

/// Compares two functions by their thresholds. Both functions are constant between neighbouring thresholds. So it is
/// enough to go through the merged thresholds of both functions once, and to compare the two results once for each
/// stretch between thresholds.
pub(super) fn between(
    before: Listed<impl Iterator<Item = i64>>,
    after: Listed<impl Iterator<Item = i64>>,
) -> Deviation {
    let low = before.0.0.max(after.0.0);
    let high = before.0.1.min(after.0.1);
    let mut found = Deviation::none((low, high.max(low)));
    let mut first = Counted::new(before);
    let mut second = Counted::new(after);
    let mut from = low;
    while from <= high {
        first.pass(from);
        second.pass(from);
        let lsb = first.value.abs_diff(second.value);
        if lsb == 0 {
            // If the functions are equal, they stay equal as long as both have their next threshold at the same place.
            while first.next.is_some() && first.next == second.next {
                first.step();
                second.step();
            }
        }
        let next = match (first.next, second.next) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        // The functions do not change before the next threshold of either function.
        let last = next.map_or(high, |t| high.min(t - 1));
        found.add(lsb, from, u128::from(last.abs_diff(from)) + 1);
        match last.checked_add(1) {
            Some(next) => from = next,
            None => break,
        }
    }
    found
}

/// Goes over the thresholds of a function in rising order.
struct Counted<I> {
    /// The result of the function before the next threshold.
    value: i32,
    next: Option<i64>,
    rest: I,
}

impl<I: Iterator<Item = i64>> Counted<I> {
    fn new((_, lowest, mut rest): Listed<I>) -> Self {
        let (value, next) = (lowest, rest.next());
        Counted { value, next, rest }
    }

    fn step(&mut self) {
        // At each threshold, the result becomes larger by one.
        self.value += 1;
        self.next = self.rest.next();
    }

    /// Goes past all thresholds up to `x`.
    fn pass(&mut self, x: i64) {
        while self.next.is_some_and(|t| t <= x) {
            self.step();
        }
    }
}
