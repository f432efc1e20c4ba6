//! Whether one step computes what a chain of steps computes, on a whole interval and without sampling.

use crate::{
    Step,
    thresholds::{DecideError, Thresholds},
};
use serde::{Deserialize, Serialize};

/// How two functions differ on an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Verdict {
    /// They are equal on all of it.
    Exact,
    /// They differ somewhere.
    Bounded {
        /// The largest difference, in units of the result.
        max_lsb: u32,
        /// The smallest accumulator where they differ by that much.
        witness: i64,
        /// The part of the interval's integers where they differ, in (0, 1].
        share: f64,
    },
}

impl Verdict {
    /// Whether the functions are equal.
    pub fn is_exact(&self) -> bool {
        matches!(self, Verdict::Exact)
    }

    /// The largest difference; zero where there is none.
    pub fn max_lsb(&self) -> u32 {
        match self {
            Verdict::Exact => 0,
            Verdict::Bounded { max_lsb, .. } => *max_lsb,
        }
    }
}

/// Compares a chain of steps with the one that is to replace it, on `interval` (both ends belong to it).
///
/// The interval must lie inside the domain of the first steps, and what they make of it in that of the following ones.
pub fn compare(before: &[Step], after: &Step, channel: usize, interval: (i64, i64)) -> Result<Verdict, DecideError> {
    if let [only] = before
        && only == after
    {
        // The same function, however many steps it has; still only where it is defined.
        for end in <[i64; 2]>::from(interval) {
            after.form.eval(channel, end)?;
        }
        return if interval.0 <= interval.1 {
            Ok(Verdict::Exact)
        } else {
            Err(DecideError::Interval(interval.0, interval.1))
        };
    }
    let before = Thresholds::of(before, channel, interval)?;
    let after = Thresholds::of(std::slice::from_ref(after), channel, interval)?;
    Ok(difference(&before, &after))
}

/// How two functions on the same interval differ; on their common part, if the intervals are not the same.
///
/// Both are constant between thresholds, so their difference is looked at once per stretch between two of them: one
/// sweep over the merged lists.
pub fn difference(before: &Thresholds, after: &Thresholds) -> Verdict {
    if before == after {
        return Verdict::Exact;
    }
    let low = before.interval().0.max(after.interval().0);
    let high = before.interval().1.min(after.interval().1);
    let (mut max_lsb, mut witness, mut differing) = (0, low, 0u128);
    let mut lists = [before.steps(), after.steps()].map(|steps| steps.iter().copied().peekable());
    let (mut values, mut from) = ([before.lowest(), after.lowest()], low);
    while from <= high {
        let mut next = None;
        for (list, value) in lists.iter_mut().zip(&mut values) {
            while list.next_if(|t| *t <= from).is_some() {
                *value += 1;
            }
            next = match (next, list.peek()) {
                (Some(a), Some(b)) => Some(*b.min(&a)),
                (a, b) => a.or(b.copied()),
            };
        }
        let lsb = values[0].abs_diff(values[1]);
        // The stretch ends before the next threshold of either list.
        let last = next.map_or(high, |t| high.min(t - 1));
        if lsb > 0 {
            differing += u128::from(last.abs_diff(from)) + 1;
        }
        if lsb > max_lsb {
            (max_lsb, witness) = (lsb, from);
        }
        match last.checked_add(1) {
            Some(next) => from = next,
            None => break,
        }
    }
    match max_lsb {
        0 => Verdict::Exact,
        _ => {
            let share = differing as f64 / (u128::from(high.abs_diff(low)) + 1) as f64;
            Verdict::Bounded {
                max_lsb,
                witness,
                share,
            }
        }
    }
}
