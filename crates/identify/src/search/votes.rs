//! Voting. Each recorded value is produced by the parameters in one interval and votes for this interval. The
//! parameters that produce the most values are where the most intervals overlap.

use super::affine::Interval;
use crate::vectors::RecordedValue;

/// The values that vote, and a function that returns the interval of parameters for which a value votes.
pub(super) struct Votes<'a, F> {
    pub(super) values: &'a [RecordedValue],
    /// The range of all parameters.
    pub(super) all: Interval,
    /// The parameters within an interval that produce a value; `None` if there are none.
    pub(super) of: F,
}

/// An interval of parameters, all of which get votes from the same values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) interval: Interval,
    /// Number of recorded outputs that these parameters produce.
    pub(super) votes: u64,
}

impl Cell {
    /// Returns `parameters`, which lie in this cell, together with the votes of the cell.
    pub(super) fn voted<T>(self, parameters: T) -> Voted<T> {
        let votes = self.votes;
        Voted { parameters, votes }
    }
}

/// The number of values in the sample that is used to find out where the best cells are.
const SAMPLE: usize = 2048;

impl<F: Fn(&RecordedValue, Interval) -> Option<Interval>> Votes<'_, F> {
    /// Returns the cells (intervals of parameters with the same votes) that may have the most votes. If there are few
    /// values, returns all cells. If there are many values, a sample of them is counted first, and only the range of
    /// parameters in which the best cells must be is then searched.
    pub(super) fn cells(&self) -> Vec<Cell> {
        if self.values.len() <= 2 * SAMPLE {
            return self.cells_of(self.values.iter(), self.all);
        }
        let sample = || sampled(self.values, SAMPLE);
        let cells = self.cells_of(sample(), self.all);
        let total: u64 = sample().map(|value| u64::from(value.times)).sum();
        let most = cells.iter().map(|cell| cell.votes).max().unwrap_or(0);
        // Cells with slightly fewer votes than the best one are kept, too, since the difference can be chance.
        let heaviest = sample().map(|value| u64::from(value.times)).max().unwrap_or(1);
        let spare = (3 * (total - most).isqrt() + 8).saturating_mul(heaviest);
        let near = |cell: &&Cell| cell.votes + spare >= most;
        let (first, last) = (cells.iter().find(near), cells.iter().rfind(near));
        let window = match (first, last) {
            (Some(first), Some(last)) => Interval {
                low: first.interval.low,
                high: last.interval.high,
            },
            _ => self.all,
        };
        self.cells_of(self.values.iter(), window)
    }

    fn cells_of<'v>(&self, values: impl Iterator<Item = &'v RecordedValue>, window: Interval) -> Vec<Cell> {
        let cell = |low, high, votes: i64| Cell {
            interval: Interval { low, high },
            votes: votes.unsigned_abs(),
        };
        let mut votes: i64 = 0;
        let mut changes: Vec<(i128, i64)> = Vec::new();
        for value in values {
            let Some(own) = (self.of)(value, window) else { continue };
            let times = i64::from(value.times);
            if own.low <= window.low {
                votes += times;
            } else {
                changes.push((own.low, times));
            }
            if own.high < window.high {
                changes.push((own.high + 1, -times));
            }
        }
        changes.sort_unstable();
        let mut cells = Vec::new();
        let mut low = window.low;
        for same in changes.chunk_by(|a, b| a.0 == b.0) {
            let at = same.first().map_or(low, |change| change.0);
            cells.push(cell(low, at - 1, votes));
            votes += same.iter().map(|change| change.1).sum::<i64>();
            low = at;
        }
        cells.push(cell(low, window.high, votes));
        cells
    }

    /// Number of outputs that are produced if the parameter is `parameter`.
    pub(super) fn count(&self, parameter: i128) -> u64 {
        let one = Interval::point(parameter);
        let given = self.values.iter().filter(|value| (self.of)(value, one).is_some());
        given.map(|value| u64::from(value.times)).sum()
    }
}

/// Among the cells that pass the test, the one with the most votes; if several have equally many, the widest of them.
pub(super) fn best(cells: &[Cell], passes: impl Fn(Interval) -> bool) -> Option<Cell> {
    let passing = cells.iter().filter(|cell| passes(cell.interval));
    passing
        .max_by_key(|cell| (cell.votes, cell.interval.high - cell.interval.low))
        .copied()
}

/// A sample of about `count` values, at irregular distances. The same values are chosen in every run.
pub(super) fn sampled(values: &[RecordedValue], count: usize) -> impl Iterator<Item = &RecordedValue> {
    let step = (values.len() / count.max(1)).max(1);
    (0..values.len() / step).map(move |index| {
        // The offset within the step is a multiplicative hash of the index.
        let within = (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        &values[index * step + (within as usize) % step]
    })
}

/// Parameters of one channel, and the number of outputs that they produce.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voted<T> {
    pub(super) parameters: T,
    pub(super) votes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells of votes whose intervals are given as (low, high, number of votes).
    fn cells(intervals: &[(i64, i32, u32)]) -> Vec<Cell> {
        let values: Vec<RecordedValue> = intervals
            .iter()
            .map(|&(accumulator, output, times)| RecordedValue {
                accumulator,
                output,
                at: 0,
                times,
            })
            .collect();
        let votes = Votes {
            values: &values,
            all: Interval { low: 0, high: 99 },
            of: |value: &RecordedValue, all: Interval| {
                let own = Interval {
                    low: all.low.max(value.accumulator.into()),
                    high: all.high.min(value.output.into()),
                };
                (own.low <= own.high).then_some(own)
            },
        };
        let cells = votes.cells();
        for at in 0..100 {
            let of = cells
                .iter()
                .find(|cell| (cell.interval.low..=cell.interval.high).contains(&at));
            assert_eq!(of.map(|cell| cell.votes), Some(votes.count(at)), "{at}");
        }
        cells
    }

    #[test]
    fn where_most_intervals_lie_over_each_other_is_the_best_cell() {
        let found = cells(&[(0, 50, 1), (40, 99, 1), (45, 48, 2), (200, 300, 9), (60, 61, 3)]);
        let best = best(&found, |_| true).map(|cell| (cell.interval.low, cell.interval.high, cell.votes));
        assert_eq!(best, Some((45, 48, 4)));
    }

    #[test]
    fn without_a_vote_all_is_one_cell() {
        assert_eq!(cells(&[]).len(), 1);
        assert_eq!(cells(&[(0, 99, 7)])[0].votes, 7);
    }
}
