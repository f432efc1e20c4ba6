//! Bounds of integers, per channel.

use std::sync::Arc;
use strait_core::{Elem, Shape};
use strait_requantize::IntType;

/// All integers from `low` to `high`, both included. An end of `i64` stands for everything past it as well, and arithmetic
/// does not bring back what has gone there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The smallest.
    pub low: i64,
    /// The largest; not below the smallest.
    pub high: i64,
}

impl Interval {
    /// One integer.
    pub fn point(value: i64) -> Interval {
        Interval {
            low: value,
            high: value,
        }
    }

    /// The values of a type.
    pub fn of_type(t: IntType) -> Interval {
        Interval {
            low: t.min().into(),
            high: t.max().into(),
        }
    }

    /// True if all of `other` lies inside.
    pub fn contains(self, other: Interval) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// The smallest interval around both.
    pub fn hull(self, other: Interval) -> Interval {
        Interval {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Every value brought between the ends of `other`.
    pub fn clamped(self, other: Interval) -> Interval {
        let clamp = |x: i64| x.min(other.high).max(other.low);
        Interval {
            low: clamp(self.low),
            high: clamp(self.high),
        }
    }

    /// x + y.
    pub fn plus(self, other: Interval) -> Interval {
        let ([low, high], [least, most]) = (self.ends(), other.ends());
        Interval::around(low + least, high + most)
    }

    /// x − y.
    pub fn minus(self, other: Interval) -> Interval {
        let ([low, high], [least, most]) = (self.ends(), other.ends());
        Interval::around(low - most, high - least)
    }

    /// x·y: the extremes of a bilinear function lie in corners.
    pub fn times(self, other: Interval) -> Interval {
        let [a, b] = self.ends().map(|x| other.ends().map(|y| x.saturating_mul(y)));
        let corners = [a[0], a[1], b[0], b[1]];
        let (low, high) = corners
            .into_iter()
            .fold((i128::MAX, i128::MIN), |(low, high), x| (low.min(x), high.max(x)));
        Interval::around(low, high)
    }

    /// The sum of `count` values, each from this interval.
    pub fn summed(self, count: u64) -> Interval {
        let [low, high] = self.ends().map(|end| end.saturating_mul(count.into()));
        Interval::around(low, high)
    }

    /// The ends as numbers; what is past i64 is past every sum and difference of two of its numbers.
    fn ends(self) -> [i128; 2] {
        let far = i128::from(i64::MAX) << 32;
        let low = if self.low == i64::MIN { -far } else { self.low.into() };
        let high = if self.high == i64::MAX { far } else { self.high.into() };
        [low, high]
    }

    /// The numbers between these, as far as i64 goes.
    fn around(low: i128, high: i128) -> Interval {
        let end = |x: i128| i64::try_from(x).unwrap_or(if x < 0 { i64::MIN } else { i64::MAX });
        Interval {
            low: end(low),
            high: end(high),
        }
    }
}

/// Bounds of the elements of one value: one interval for all of them, or one per index of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    axis: Option<usize>,
    /// Never empty; one where there is no axis. Ops that move codes share them.
    intervals: Arc<[Interval]>,
    /// The smallest interval around all of them.
    hull: Interval,
}

impl Range {
    /// The same bounds for every element.
    pub fn tensor(interval: Interval) -> Range {
        Range {
            axis: None,
            intervals: [interval].into(),
            hull: interval,
        }
    }

    /// Bounds per index of an axis; `None` where there is no index.
    pub fn channels(axis: usize, intervals: Vec<Interval>) -> Option<Range> {
        let hull = intervals.iter().copied().reduce(Interval::hull)?;
        Some(Range {
            axis: Some(axis),
            intervals: intervals.into(),
            hull,
        })
    }

    /// The axis that the bounds run along.
    pub fn axis(&self) -> Option<usize> {
        self.axis
    }

    /// One interval, or one per index of the axis.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// The bounds of all elements together.
    pub fn hull(&self) -> Interval {
        self.hull
    }

    /// The bounds at an index of an axis.
    pub fn at(&self, axis: usize, index: usize) -> Interval {
        match self.intervals.get(index) {
            Some(interval) if self.axis == Some(axis) => *interval,
            _ => self.hull(),
        }
    }

    /// The same axis with each interval replaced.
    pub fn map(&self, f: impl FnMut(&Interval) -> Interval) -> Range {
        let intervals: Arc<[Interval]> = self.intervals.iter().map(f).collect();
        let first = intervals[0];
        Range {
            axis: self.axis,
            hull: intervals.iter().copied().fold(first, Interval::hull),
            intervals,
        }
    }

    /// The same bounds under another numbering of axes; those of all elements where the axis is gone.
    pub fn moved(&self, f: impl FnOnce(usize) -> Option<usize>) -> Range {
        match self.axis.map(f) {
            Some(None) => Range::tensor(self.hull()),
            axis => Range {
                axis: axis.flatten(),
                intervals: Arc::clone(&self.intervals),
                hull: self.hull,
            },
        }
    }
}

/// All values of an element type; `None` for floats and booleans.
pub(super) fn of_elem(elem: Elem) -> Option<Interval> {
    let (low, high) = elem.integers()?;
    Some(Interval { low, high })
}

/// The extents of a shape; `None` where one is symbolic.
pub(crate) fn extents(shape: &Shape) -> Option<Vec<u64>> {
    shape.iter().map(|d| d.fixed()).collect()
}
