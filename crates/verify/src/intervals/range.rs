//! Bounds of integers: for all elements of a value, and for each index along an axis.

use std::{fmt, sync::Arc};
use strait_core::{Elem, Shape};
use strait_requantize::IntType;

/// All integers from `low` to `high`, both included. If an end is `i64::MIN` or `i64::MAX`, it also stands for all
/// integers beyond it, in further computations, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The smallest integer.
    pub low: i64,
    /// The largest integer. It is not below `low`.
    pub high: i64,
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.low, self.high)
    }
}

impl Interval {
    /// The interval of a single integer.
    pub fn point(value: i64) -> Interval {
        Interval::between(value, value)
    }

    /// The range of a type.
    pub fn of_type(t: IntType) -> Interval {
        Interval::between(t.min(), t.max())
    }

    /// The interval between two integers.
    pub(crate) fn between(low: impl Into<i64>, high: impl Into<i64>) -> Interval {
        let (low, high) = (low.into(), high.into());
        Interval { low, high }
    }

    /// True if this interval contains all of `other`.
    pub fn contains(self, other: Interval) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// The smallest interval that contains both intervals.
    pub fn hull(self, other: Interval) -> Interval {
        Interval::between(self.low.min(other.low), self.high.max(other.high))
    }

    /// The interval of the integers in this interval after each of them is clamped to `other`.
    pub fn clamped(self, other: Interval) -> Interval {
        let clamp = |x: i64| x.min(other.high).max(other.low);
        Interval::between(clamp(self.low), clamp(self.high))
    }

    /// The interval of x + y.
    pub fn plus(self, other: Interval) -> Interval {
        let ([low, high], [least, most]) = (self.ends(), other.ends());
        Interval::around(low + least, high + most)
    }

    /// The interval of x − y.
    pub fn minus(self, other: Interval) -> Interval {
        let ([low, high], [least, most]) = (self.ends(), other.ends());
        Interval::around(low - most, high - least)
    }

    /// Returns the interval of the products x·y of the numbers x of this interval and the numbers y of `other`. The
    /// smallest and the largest product are products of ends, because multiplication is linear in each factor.
    pub fn times(self, other: Interval) -> Interval {
        let [a, b] = self.ends().map(|x| other.ends().map(|y| x.saturating_mul(y)));
        let corners = [a[0], a[1], b[0], b[1]];
        let ends = (i128::MAX, i128::MIN);
        let (low, high) = corners
            .into_iter()
            .fold(ends, |(low, high), x| (low.min(x), high.max(x)));
        Interval::around(low, high)
    }

    /// The interval of all sums of `count` integers from this interval.
    pub fn summed(self, count: u64) -> Interval {
        let [low, high] = self.ends().map(|end| end.saturating_mul(count.into()));
        Interval::around(low, high)
    }

    /// The ends as numbers to compute with. `i64::MIN` and `i64::MAX` become numbers with such a large magnitude that
    /// adding or subtracting any i64 does not bring them back into the range of i64.
    fn ends(self) -> [i128; 2] {
        let far = i128::from(i64::MAX) << 32;
        let low = if self.low == i64::MIN { -far } else { self.low.into() };
        let high = if self.high == i64::MAX { far } else { self.high.into() };
        [low, high]
    }

    /// The interval between two numbers, limited to i64.
    fn around(low: i128, high: i128) -> Interval {
        let end = |x: i128| i64::try_from(x).unwrap_or(if x < 0 { i64::MIN } else { i64::MAX });
        Interval::between(end(low), end(high))
    }
}

/// Bounds of the elements of one value: an interval for all elements and, for each axis along which more is known, one
/// interval for each index. An element lies in the interval for all elements and in the intervals of all its indices.
///
/// The number of intervals along an axis is its extent. The constructors check this against the shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRange {
    hull: Interval,
    /// The bounds along each axis for which more is known, in the order of the axes.
    along: Vec<Along>,
}

/// Bounds for each index along an axis. All of them lie inside of the interval for all elements.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Along {
    axis: usize,
    /// The intervals. If ops only move codes from one value to another, both values share the intervals.
    intervals: Arc<[Interval]>,
}

impl Along {
    fn hull(&self) -> Option<Interval> {
        self.intervals.iter().copied().reduce(Interval::hull)
    }
}

impl ValueRange {
    /// The same bounds for every element.
    pub fn tensor(hull: Interval) -> ValueRange {
        let along = Vec::new();
        ValueRange { hull, along }
    }

    /// Makes bounds from one interval for each index along the axis `axis` of a value. Returns `None` if the axis does
    /// not exist, or if its extent is not the number of intervals.
    pub fn along(shape: &Shape, axis: usize, intervals: Vec<Interval>) -> Option<ValueRange> {
        let along = Along {
            axis,
            intervals: intervals.into(),
        };
        let hull = along.hull()?;
        has_extent(shape, axis, along.intervals.len()).then(|| ValueRange {
            hull,
            along: vec![along],
        })
    }

    /// One interval for all elements together.
    pub fn hull(&self) -> Interval {
        self.hull
    }

    /// The axes along which more is known, in ascending order, with the intervals of their indices.
    pub fn axes(&self) -> impl Iterator<Item = (usize, &[Interval])> {
        self.along.iter().map(|along| (along.axis, &along.intervals[..]))
    }

    /// The bounds for each index along an axis, if they are known.
    pub fn by_index(&self, axis: usize) -> Option<&[Interval]> {
        self.axes()
            .find(|(own, _)| *own == axis)
            .map(|(_, intervals)| intervals)
    }

    /// The bounds at one index along an axis.
    pub fn at(&self, axis: usize, index: usize) -> Interval {
        let own = self.by_index(axis).and_then(|intervals| intervals.get(index));
        own.copied().unwrap_or(self.hull)
    }

    /// The bounds after a function is applied to each element. For an interval of elements, `f` gives the interval of
    /// the function's results.
    pub fn map(&self, mut f: impl FnMut(Interval) -> Interval) -> ValueRange {
        let each = |along: &Along| Along {
            axis: along.axis,
            intervals: along.intervals.iter().copied().map(&mut f).collect(),
        };
        let along = self.along.iter().map(each).collect();
        ValueRange::around(f(self.hull), along)
    }

    /// Like [`ValueRange::map`], but `f` may fail. Then the result is the first error of `f`.
    pub fn try_map<E>(&self, mut f: impl FnMut(Interval) -> Result<Interval, E>) -> Result<ValueRange, E> {
        let mut failed = None;
        let mapped = self.map(|interval| {
            f(interval).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                interval
            })
        });
        failed.map_or(Ok(mapped), Err)
    }

    /// Returns the bounds after the elements were moved into a value with this shape. `f(axis)` is the axis of the new
    /// value that corresponds to the old axis `axis`. If no axis corresponds to it, or if the new axis has a different
    /// extent, the bounds along `axis` are dropped.
    pub fn moved(&self, shape: &Shape, mut f: impl FnMut(usize) -> Option<usize>) -> ValueRange {
        let each = |along: &Along| {
            let axis = f(along.axis).filter(|&axis| has_extent(shape, axis, along.intervals.len()))?;
            let intervals = Arc::clone(&along.intervals);
            Some(Along { axis, intervals })
        };
        let mut along: Vec<Along> = self.along.iter().filter_map(each).collect();
        along.sort_by_key(|along| along.axis);
        let hull = self.hull;
        ValueRange { hull, along }
    }

    /// Returns the bounds of a function of two elements at the same position, one of this value and one of `other`.
    /// Both values have the same shape.
    pub fn combined(&self, other: &ValueRange, f: impl Fn(Interval, Interval) -> Interval) -> ValueRange {
        let mut axes: Vec<(usize, usize)> = self
            .axes()
            .chain(other.axes())
            .map(|(axis, intervals)| (axis, intervals.len()))
            .collect();
        axes.sort_unstable();
        axes.dedup();
        let each = |(axis, count): (usize, usize)| Along {
            axis,
            intervals: (0..count).map(|at| f(self.at(axis, at), other.at(axis, at))).collect(),
        };
        ValueRange::around(f(self.hull, other.hull), axes.into_iter().map(each).collect())
    }

    /// Combines everything that is known about a value: first limits the interval for all elements by the intervals
    /// along each axis, and then all intervals along axes by the interval for all elements.
    fn around(hull: Interval, mut along: Vec<Along>) -> ValueRange {
        let hull = along.iter().filter_map(Along::hull).fold(hull, Interval::clamped);
        for own in along
            .iter_mut()
            .filter(|own| own.intervals.iter().any(|&i| !hull.contains(i)))
        {
            own.intervals = own.intervals.iter().map(|i| i.clamped(hull)).collect();
        }
        ValueRange { hull, along }
    }
}

/// True if `axis` is an axis of this shape and has `count` elements.
fn has_extent(shape: &Shape, axis: usize, count: usize) -> bool {
    shape.get(axis).and_then(|dim| dim.fixed()) == Some(count as u64)
}

/// The range of an element type. `None` for floats and booleans.
pub(super) fn of_elem(elem: Elem) -> Option<Interval> {
    let (low, high) = elem.integers()?;
    Some(Interval { low, high })
}

/// The extents of a shape. `None` if one of them is symbolic.
pub(crate) fn extents(shape: &Shape) -> Option<Vec<u64>> {
    shape.iter().map(|d| d.fixed()).collect()
}
