//! Bounds of the elements of a value, and the axis that they run along.

use super::{Interval, around_all};
use strait_core::Shape;
use strait_requantize::Per;

/// Bounds of the elements of a value: one interval for all of them, or one for each index along an axis, which has exactly so many
/// elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    bounds: Per<Interval>,
    /// The axis, where there is an interval for each index.
    axis: Option<usize>,
}

impl Reach {
    /// The same interval for all elements.
    pub(crate) fn tensor(interval: Interval) -> Reach {
        Reach {
            bounds: Per::Tensor(interval),
            axis: None,
        }
    }

    /// An interval for each index along an axis of a value of this shape; `None` where the axis has another number of elements.
    pub(crate) fn along(shape: &Shape, axis: usize, intervals: Per<Interval>) -> Option<Reach> {
        let extent = shape.get(axis)?.fixed()?;
        let fits = intervals.channels().is_none_or(|count| count as u64 == extent);
        fits.then(|| Reach {
            axis: intervals.channels().map(|_| axis),
            bounds: intervals,
        })
    }

    /// The intervals.
    pub(crate) fn bounds(&self) -> &Per<Interval> {
        &self.bounds
    }

    /// The axis that they run along, where there is one for each of its indices.
    pub(crate) fn axis(&self) -> Option<usize> {
        self.axis
    }

    /// The interval around all elements.
    pub(crate) fn hull(&self) -> Option<Interval> {
        around_all(&self.bounds)
    }

    /// The bounds of a function of each element.
    pub(crate) fn map(&self, f: impl FnMut(&Interval) -> Interval) -> Reach {
        Reach {
            bounds: self.bounds.map(f),
            axis: self.axis,
        }
    }

    /// The same as far as they run along `axis`, and else the interval around all elements.
    pub(crate) fn only_along(&self, axis: Option<usize>) -> Option<Reach> {
        if self.axis == axis {
            return Some(self.clone());
        }
        self.hull().map(Reach::tensor)
    }
}
