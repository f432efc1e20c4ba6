//! Bounds of integers, per channel.

use strait_core::{Elem, Shape};
use strait_requantize::IntType;

/// All integers from `low` to `high`, both included. Arithmetic saturates at the ends of `i64`, far outside of every
/// type that a graph computes in.
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
        Interval {
            low: self.low.saturating_add(other.low),
            high: self.high.saturating_add(other.high),
        }
    }

    /// x − y.
    pub fn minus(self, other: Interval) -> Interval {
        Interval {
            low: self.low.saturating_sub(other.high),
            high: self.high.saturating_sub(other.low),
        }
    }

    /// x·y: the extremes of a bilinear function lie in corners.
    pub fn times(self, other: Interval) -> Interval {
        let [a, b] = [self.low, self.high].map(|x| [other.low, other.high].map(|y| x.saturating_mul(y)));
        let corners = [a[0], a[1], b[0], b[1]];
        Interval {
            low: corners.into_iter().fold(i64::MAX, i64::min),
            high: corners.into_iter().fold(i64::MIN, i64::max),
        }
    }

    /// The sum of `count` values, each from this interval.
    pub fn summed(self, count: u64) -> Interval {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        Interval {
            low: self.low.saturating_mul(count),
            high: self.high.saturating_mul(count),
        }
    }
}

/// Bounds of the elements of one value: one interval for all of them, or one per index of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    axis: Option<usize>,
    /// Never empty; one where there is no axis.
    intervals: Vec<Interval>,
}

impl Range {
    /// The same bounds for every element.
    pub fn tensor(interval: Interval) -> Range {
        Range {
            axis: None,
            intervals: vec![interval],
        }
    }

    /// Bounds per index of an axis; `None` where there is no index.
    pub fn channels(axis: usize, intervals: Vec<Interval>) -> Option<Range> {
        let axis = Some(axis);
        (!intervals.is_empty()).then_some(Range { axis, intervals })
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
        let first = self.intervals[0];
        self.intervals.iter().fold(first, |all, i| all.hull(*i))
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
        Range {
            axis: self.axis,
            intervals: self.intervals.iter().map(f).collect(),
        }
    }

    /// The same bounds under another numbering of axes; those of all elements where the axis is gone.
    pub fn moved(&self, f: impl FnOnce(usize) -> Option<usize>) -> Range {
        match self.axis.map(f) {
            Some(None) => Range::tensor(self.hull()),
            axis => Range {
                axis: axis.flatten(),
                intervals: self.intervals.clone(),
            },
        }
    }
}

/// All values of an element type that requantization knows; `None` for floats, 64-bit integers and booleans.
pub(super) fn of_elem(elem: Elem) -> Option<Interval> {
    elem.int_type().map(Interval::of_type)
}

/// The extents of a shape; `None` where one is symbolic.
pub(crate) fn extents(shape: &Shape) -> Option<Vec<u64>> {
    shape.iter().map(|d| d.fixed()).collect()
}
