//! Finds parameters of forms that add a constant before they round once, from recordings with wrong values. The values
//! that fit worst are left out until a multiplier and a constant explain the rest.

use super::{
    Scalar,
    affine::Interval,
    constant,
    votes::{Voted, Votes, best},
};
use crate::edges::{self, Limit, bounds, once};
use crate::vectors::RecordedValue;
use strait_requantize::{Rounding, form::MAX_ADDEND};

/// The search ends when the values that fit worst were left out this many times without a better line being found.
const IN_VAIN: usize = 4;
/// Left-out values are taken back one at a time until this many attempts have failed.
const TAKEN_BACK: usize = 64;

/// For each width, the multiplier, the shift and the constant that produce the most outputs.
pub(super) fn search(
    values: &[RecordedValue],
    ends: [i32; 2],
    rounding: Rounding,
    widths: &[u8],
) -> Vec<Option<Voted<Scalar>>> {
    let ascending = ascending(values, ends);
    let total: u64 = values.iter().map(|value| u64::from(value.times)).sum();
    let of = |&bits: &u8| {
        let channel = Channel {
            values,
            ends,
            rounding,
            bits,
            total,
        };
        channel.search(ascending.clone())
    };
    widths.iter().map(of).collect()
}

struct Channel<'a> {
    values: &'a [RecordedValue],
    ends: [i32; 2],
    rounding: Rounding,
    bits: u8,
    /// Number of recorded outputs.
    total: u64,
}

impl Channel<'_> {
    fn search(&self, mut kept: Vec<RecordedValue>) -> Option<Voted<Scalar>> {
        let mut most: Option<Voted<Scalar>> = None;
        let mut in_vain = 0;
        let mut explained = false;
        while !explained && in_vain < IN_VAIN {
            let line = constant::search(&edges::edges(&kept, self.ends), self.rounding, self.bits)?;
            let voted = self.with_constant(line.parameters);
            in_vain += 1;
            if most.is_none_or(|most| voted.votes > most.votes) {
                (most, in_vain) = (Some(voted), 0);
            }
            if voted.votes * 2 < self.total {
                break;
            }
            explained = line.explains;
            let by = |value: &RecordedValue| self.distance(value, line.parameters);
            let worst = kept.iter().map(by).max().unwrap_or(0);
            kept.retain(|value| by(value) * 2 < worst.max(1));
        }
        let most = most?;
        let most = if explained { self.taken_back(kept, most) } else { most };
        Some(if most.votes * 10 < self.total * 9 {
            most
        } else {
            self.turned(most)
        })
    }

    /// Improves a line, which consists of a multiplier, a shift and a constant. First the multiplier is changed in such
    /// a way that the line has the same product at an accumulator in the middle of the values. Then the constant is
    /// changed. Both are repeated as long as the line produces more values each time.
    fn turned(&self, mut most: Voted<Scalar>) -> Voted<Scalar> {
        loop {
            let before = most.votes;
            for part in 1..=3 {
                let pivot = self
                    .values
                    .get(self.values.len() * part / 4)
                    .map_or(0, |value| value.accumulator);
                if let Some(scalar) = self.with_factor(most.parameters, pivot) {
                    let voted = self.with_constant(scalar);
                    if voted.votes > most.votes {
                        most = voted;
                    }
                }
            }
            if most.votes == before {
                return most;
            }
        }
    }

    /// Returns the line that produces the most outputs, among the lines that have the same shift as `scalar` and the
    /// same product at the accumulator `pivot`.
    fn with_factor(&self, scalar: Scalar, pivot: i64) -> Option<Scalar> {
        let least = once(self.rounding, scalar.shift);
        let product = i128::from(pivot) * i128::from(scalar.factor) + i128::from(scalar.constant);
        let votes = Votes {
            values: self.values,
            all: Interval {
                low: 1 << (self.bits - 1),
                high: (1 << self.bits) - 1,
            },
            of: |value: &RecordedValue, within: Interval| {
                let mut left = within;
                for edge in bounds(value, self.ends)?.into_iter().flatten() {
                    let limit = match edge.product(0, &least) {
                        Limit::AtLeast(t) => Limit::AtLeast(t - product),
                        Limit::AtMost(t) => Limit::AtMost(t - product),
                    };
                    left = left.cut(edge.x.checked_sub(pivot)?, limit);
                }
                (!left.is_empty()).then_some(left)
            },
        };
        let factor = best(&votes.cells(), |_| true)?.interval.middle();
        let constant = product - i128::from(pivot) * factor;
        Some(Scalar {
            // The multiplier has at most 30 bits, so no bits are lost in the cast.
            factor: factor as i32,
            constant: i64::try_from(constant).ok()?,
            ..scalar
        })
    }

    /// Takes back values that were left out by mistake, such as values next to an accumulator at which the output
    /// changes, and finds the line for all values that are then kept.
    fn taken_back(&self, mut kept: Vec<RecordedValue>, mut most: Voted<Scalar>) -> Voted<Scalar> {
        let line = most.parameters;
        let mut left: Vec<(i128, RecordedValue)> = self
            .values
            .iter()
            .map(|value| (self.distance(value, line), *value))
            .filter(|&(distance, _)| distance > 0 && distance >> line.shift == 0)
            .collect();
        left.sort_unstable();
        for (_, value) in left.into_iter().take(TAKEN_BACK) {
            let at = kept.partition_point(|other| *other < value);
            let above = at
                .checked_sub(1)
                .and_then(|before| kept.get(before))
                .is_none_or(|before| before.output <= value.output);
            if !(above && kept.get(at).is_none_or(|after| value.output <= after.output)) {
                continue;
            }
            kept.insert(at, value);
            match constant::search(&edges::edges(&kept, self.ends), self.rounding, self.bits) {
                Some(found) if found.explains => {
                    let voted = self.with_constant(found.parameters);
                    if voted.votes > most.votes {
                        most = voted;
                    }
                }
                _ => {
                    kept.remove(at);
                }
            }
        }
        most
    }

    /// The constant that produces the most outputs with the given multiplier and shift.
    fn with_constant(&self, scalar: Scalar) -> Voted<Scalar> {
        let least = once(self.rounding, scalar.shift);
        let factor = i128::from(scalar.factor);
        let votes = Votes {
            values: self.values,
            all: Interval {
                low: -i128::from(MAX_ADDEND),
                high: MAX_ADDEND.into(),
            },
            of: |value: &RecordedValue, within: Interval| {
                let mut left = within;
                for edge in bounds(value, self.ends)?.into_iter().flatten() {
                    let product = i128::from(edge.x) * factor;
                    match edge.product(0, &least) {
                        Limit::AtLeast(t) => left.low = left.low.max(t - product),
                        Limit::AtMost(t) => left.high = left.high.min(t - product),
                    }
                }
                (!left.is_empty()).then_some(left)
            },
        };
        let cell = best(&votes.cells(), |_| true);
        let constant = cell.and_then(|cell| i64::try_from(cell.interval.middle()).ok());
        let constant = constant.unwrap_or(scalar.constant);
        Voted {
            parameters: Scalar { constant, ..scalar },
            votes: cell.map_or(0, |cell| cell.votes),
        }
    }

    /// Computes how far a line (a multiplier, a shift and a constant) is from a recorded value: at the value's
    /// accumulator, the distance of the line's product from the products that would give the value's output. This is 0
    /// if the line gives the output.
    fn distance(&self, value: &RecordedValue, line: Scalar) -> i128 {
        let least = once(self.rounding, line.shift);
        let Some(bounds) = bounds(value, self.ends) else {
            return i128::MAX / 4;
        };
        let product = i128::from(value.accumulator) * i128::from(line.factor) + i128::from(line.constant);
        let misses = bounds.into_iter().flatten().map(|edge| match edge.product(0, &least) {
            Limit::AtLeast(t) => (t - product).max(0),
            Limit::AtMost(t) => (product - t).max(0),
        });
        misses.max().unwrap_or(0)
    }
}

/// Selects as many values as possible so that, sorted by accumulator, their outputs do not decrease. For each
/// accumulator, only the output that was recorded most often can be selected.
fn ascending(values: &[RecordedValue], ends: [i32; 2]) -> Vec<RecordedValue> {
    let within = |value: &&RecordedValue| (ends[0]..=ends[1]).contains(&value.output);
    let values: Vec<RecordedValue> = values
        .chunk_by(|a, b| a.accumulator == b.accumulator)
        .filter_map(|same| same.iter().filter(within).max_by_key(|value| value.times).copied())
        .collect();
    // This finds the longest non-decreasing subsequence. For each length, the subsequence of this length that ends with
    // the lowest output is remembered: `last` has the index of its last value. `before` has, for each value, the index
    // of its predecessor.
    let mut last: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(values.len());
    for (at, value) in values.iter().enumerate() {
        let length = last.partition_point(|&end| values[end].output <= value.output);
        before.push(length.checked_sub(1).map(|shorter| last[shorter]));
        if length == last.len() {
            last.push(at);
        } else {
            last[length] = at;
        }
    }
    let mut chain = Vec::with_capacity(last.len());
    let mut at = last.last().copied();
    while let Some(here) = at {
        chain.push(values[here]);
        at = before[here];
    }
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_that_does_not_decrease_is_left() {
        let codes = [1, 1, 9, 2, 3, -8, 3, 4];
        let values: Vec<RecordedValue> = (0..)
            .zip(codes)
            .map(|(at, output)| RecordedValue {
                accumulator: at,
                output,
                at: 0,
                times: 1,
            })
            .collect();
        let left: Vec<i32> = ascending(&values, [-128, 127])
            .iter()
            .map(|value| value.output)
            .collect();
        assert_eq!(left, [1, 1, 2, 3, 3, 4]);
    }
}
