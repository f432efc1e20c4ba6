//! The samples that statistics were taken from.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::Range;

/// The samples that statistics were taken from, by their positions in the data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The number of samples in the data.
    of: u64,
    /// The ranges of covered positions, in ascending order. No range is empty, and there is a gap between any two.
    ranges: Vec<Range<u64>>,
}

impl Coverage {
    /// The coverage of all samples of data with `of` samples.
    pub fn all(of: u64) -> Coverage {
        let ranges = std::iter::once(0..of).filter(|range| !range.is_empty()).collect();
        Coverage { of, ranges }
    }

    /// Splits data with `of` samples into `parts` parts of nearly equal size and returns the part with the number
    /// `part`, counted from 1. It covers the positions from ⌊(part − 1)·of/parts⌋ up to, but not including,
    /// ⌊part·of/parts⌋. Returns `None` if there is no such part.
    pub fn share(part: NonZeroU64, parts: NonZeroU64, of: u64) -> Option<Coverage> {
        let end = |part: u64| (u128::from(part) * u128::from(of) / u128::from(parts.get())) as u64;
        let range = end(part.get() - 1)..end(part.get());
        (part <= parts && !range.is_empty()).then(|| Coverage {
            of,
            ranges: vec![range],
        })
    }

    /// The coverage of consecutive samples of data with `of` samples.
    pub(crate) fn of_range(range: Range<u64>, of: u64) -> Coverage {
        let ranges = std::iter::once(range).filter(|range| !range.is_empty()).collect();
        Coverage { of, ranges }
    }

    /// Makes a coverage from the ranges that a file states, for data with `of` samples. Returns `None` if the ranges
    /// are not in order.
    pub(super) fn from_parts(of: u64, ranges: Vec<Range<u64>>) -> Option<Coverage> {
        let filled = ranges.iter().all(|range| range.start < range.end && range.end <= of);
        let apart = ranges.windows(2).all(|two| two[0].end < two[1].start);
        (filled && apart).then_some(Coverage { of, ranges })
    }

    /// The number of samples in the data.
    pub fn of(&self) -> u64 {
        self.of
    }

    /// The number of samples that are covered.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// True if all samples are covered.
    pub fn is_whole(&self) -> bool {
        self.count() == self.of
    }

    /// The ranges of positions, in ascending order.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// The positions of the covered samples, in ascending order.
    pub fn positions(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges.iter().cloned().flatten()
    }

    /// The first range of samples that both coverages contain.
    pub fn overlap(&self, other: &Coverage) -> Option<Range<u64>> {
        let common = |a: &Range<u64>, b: &Range<u64>| a.start.max(b.start)..a.end.min(b.end);
        let pairs = self
            .ranges
            .iter()
            .flat_map(|a| other.ranges.iter().map(move |b| common(a, b)));
        pairs.filter(|range| !range.is_empty()).min_by_key(|range| range.start)
    }

    /// The samples that are not covered.
    pub fn missing(&self) -> Coverage {
        let mut ranges = Vec::new();
        let mut at = 0;
        let end = std::iter::once(self.of..self.of);
        for range in self.ranges.iter().cloned().chain(end) {
            if at < range.start {
                ranges.push(at..range.start);
            }
            at = range.end;
        }
        Coverage { of: self.of, ranges }
    }

    /// Adds the samples of another coverage.
    pub fn join(&mut self, other: &Coverage) {
        self.of = self.of.max(other.of);
        let mut all = std::mem::take(&mut self.ranges);
        all.extend(other.ranges.iter().cloned());
        all.sort_by_key(|range| range.start);
        for range in all {
            match self.ranges.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => self.ranges.push(range),
            }
        }
    }
}

/// Writes the covered positions, counted from 0. The last position of each range is included.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.ranges.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match range.end - 1 {
                last if last == range.start => write!(f, "{comma}{last}")?,
                last => write!(f, "{comma}{} to {last}", range.start)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(part: u64, parts: u64, of: u64) -> Option<Coverage> {
        Coverage::share(NonZeroU64::new(part)?, NonZeroU64::new(parts)?, of)
    }

    #[test]
    fn the_shares_are_apart_and_whole_together() {
        for (of, parts) in [(1, 1), (7, 3), (100, 7), (5, 5), (u64::MAX, 3)] {
            let shares: Vec<Coverage> = (1..=parts).map(|part| share(part, parts, of).unwrap()).collect();
            let mut all = Coverage::default();
            for (index, one) in shares.iter().enumerate().rev() {
                assert!(shares[..index].iter().all(|other| one.overlap(other).is_none()));
                assert!(one.count() >= of / parts && one.count() <= of.div_ceil(parts));
                all.join(one);
            }
            assert_eq!(all, Coverage::all(of));
            assert!(all.is_whole() && all.missing().count() == 0);
        }
        assert_eq!((share(3, 2, 10), share(1, 3, 2)), (None, None));
    }

    #[test]
    fn what_is_covered_twice_or_not_at_all_is_told() {
        let mut two = share(1, 4, 10).unwrap();
        two.join(&share(3, 4, 10).unwrap());
        assert_eq!(
            (two.to_string(), two.missing().to_string()),
            ("0 to 1, 5 to 6".into(), "2 to 4, 7 to 9".into())
        );
        assert_eq!(two.overlap(&share(2, 2, 10).unwrap()), Some(5..7));
        assert_eq!(share(1, 10, 10).unwrap().to_string(), "0");
        assert_eq!(two.positions().collect::<Vec<_>>(), [0, 1, 5, 6]);
        let parts = |ranges: &[[u64; 2]]| {
            let ranges = ranges.iter().map(|&[start, end]| start..end);
            Coverage::from_parts(10, ranges.collect()).is_some()
        };
        assert!(parts(&[[0, 2], [5, 7]]));
        assert!(!parts(&[[0, 2], [2, 7]]) && !parts(&[[5, 7], [0, 2]]) && !parts(&[[9, 11]]) && !parts(&[[3, 3]]));
    }
}
