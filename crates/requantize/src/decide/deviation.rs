//! Difference of two chains of steps: equal or not, by how much, where, and how often.

use super::{
    Verdict, normal,
    thresholds::{Chain, DecideError, Thresholds, common_channels},
};
use crate::{Per, Step};

/// The difference of two functions on an interval, over all of its integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The largest difference, in units of the result.
    pub max_lsb: u32,
    /// The smallest accumulator where they differ by that much; the lower end where they are equal.
    pub witness: i64,
    /// On how many accumulators they differ.
    pub differing: u128,
    /// Number of accumulators.
    pub of: u128,
}

impl Deviation {
    /// No difference on the integers from `low` to `high`.
    pub(super) fn none((low, high): (i64, i64)) -> Self {
        Deviation {
            max_lsb: 0,
            witness: low,
            differing: 0,
            of: u128::from(high.abs_diff(low)) + 1,
        }
    }

    /// Counts `count` accumulators from `from` on, where the functions differ by `lsb`. Stretches come in order.
    pub(crate) fn add(&mut self, lsb: u32, from: i64, count: u128) {
        if lsb > 0 {
            self.differing += count;
        }
        if lsb > self.max_lsb {
            (self.max_lsb, self.witness) = (lsb, from);
        }
    }

    /// The part of the interval's integers where the functions differ.
    pub fn share(&self) -> f64 {
        self.differing as f64 / self.of as f64
    }
}

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

/// True if two chains of steps are the same function on `interval` (both ends belong to it).
///
/// # Errors
/// As [`deviation`]: what it cannot decide is no answer, and never "equal".
pub fn equal_on(a: &[Step], b: &[Step], channel: usize, interval: (i64, i64)) -> Result<bool, DecideError> {
    let (a, b) = (Chain::new(a, channel)?, Chain::new(b, channel)?);
    match (a.ends(interval), b.ends(interval)) {
        // Without a list of thresholds, and up to the first that differs.
        (Ok(ends), Ok(others)) => Ok(ends == others
            && (i64::from(ends.0) + 1..=i64::from(ends.1)).all(|k| a.least_reaching(k) == b.least_reaching(k))),
        (Err(error), _) | (_, Err(error)) => Ok(by_parameters(&a, &b, interval, error)?.max_lsb == 0),
    }
}

/// Difference of two chains of steps on `interval` (both ends belong to it).
///
/// # Errors
/// The interval must lie inside the domain of the first steps, and what they make of it in that of the following ones.
/// Where there are more steps than [`MAX_STEPS`](super::MAX_STEPS) (results of 32 bits) the parameters have to decide;
/// where they do not, that is [`DecideError::TooManySteps`].
pub fn deviation(a: &[Step], b: &[Step], channel: usize, interval: (i64, i64)) -> Result<Deviation, DecideError> {
    let (a, b) = (Chain::new(a, channel)?, Chain::new(b, channel)?);
    match (a.thresholds(interval), b.thresholds(interval)) {
        (Ok(a), Ok(b)) => Ok(between(&a, &b)),
        (Err(error), _) | (_, Err(error)) => by_parameters(&a, &b, interval, error),
    }
}

/// The decision where one of the chains has too many thresholds; any other error stays what it is.
fn by_parameters(
    a: &Chain<'_>,
    b: &Chain<'_>,
    interval: (i64, i64),
    error: DecideError,
) -> Result<Deviation, DecideError> {
    if !matches!(error, DecideError::TooManySteps { .. }) {
        return Err(error);
    }
    let ends = |chain: &Chain<'_>| Ok::<_, DecideError>([chain.eval(interval.0)?, chain.eval(interval.1)?]);
    normal::deviation((a, ends(a)?), (b, ends(b)?), interval).ok_or(error)
}

/// Compares a chain of steps with the one that is to replace it, on `interval` (both ends belong to it).
///
/// # Errors
/// As [`deviation`], but for what cannot be decided: that is [`Verdict::Unknown`].
pub fn compare(before: &[Step], after: &Step, channel: usize, interval: (i64, i64)) -> Result<Verdict, DecideError> {
    match deviation(before, std::slice::from_ref(after), channel, interval) {
        Ok(deviation) => Ok(deviation.into()),
        Err(DecideError::TooManySteps { .. }) => Ok(Verdict::Unknown),
        Err(error) => Err(error),
    }
}

/// [`compare`] on every channel: one verdict where steps and interval are the same for all, one per channel otherwise.
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
        // The same function, however many steps it has; still only where it is defined.
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
    // What is equal on the smallest interval around all of them is equal on each.
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

/// Difference of two functions on the same interval, or on the common part where their intervals differ.
pub fn difference(before: &Thresholds, after: &Thresholds) -> Verdict {
    between(before, after).into()
}

/// Both are constant between thresholds, so their difference is looked at once per stretch between two of them: one
/// sweep over the merged lists.
pub(crate) fn between(before: &Thresholds, after: &Thresholds) -> Deviation {
    let low = before.interval().0.max(after.interval().0);
    let high = before.interval().1.min(after.interval().1);
    let mut found = Deviation::none((low, high.max(low)));
    if before == after {
        return found;
    }
    let (first, second) = (before.steps(), after.steps());
    // Thresholds of each list at `from` or below it: so many codes is the value above the lowest one.
    let (mut i, mut j, mut from) = (0, 0, low);
    while from <= high {
        while first.get(i).is_some_and(|t| *t <= from) {
            i += 1;
        }
        while second.get(j).is_some_and(|t| *t <= from) {
            j += 1;
        }
        // At most MAX_STEPS above an i32, to a value that is one.
        let lsb = (before.lowest() + i as i32).abs_diff(after.lowest() + j as i32);
        if lsb == 0 {
            // What is equal stays equal as long as both take their next value at the same place.
            while first.get(i).is_some_and(|t| second.get(j) == Some(t)) {
                (i, j) = (i + 1, j + 1);
            }
        }
        let next = match (first.get(i), second.get(j)) {
            (Some(a), Some(b)) => Some(*a.min(b)),
            (a, b) => a.or(b).copied(),
        };
        // The stretch ends before the next threshold of either list.
        let last = next.map_or(high, |t| high.min(t - 1));
        found.add(lsb, from, u128::from(last.abs_diff(from)) + 1);
        match last.checked_add(1) {
            Some(next) => from = next,
            None => break,
        }
    }
    found
}
