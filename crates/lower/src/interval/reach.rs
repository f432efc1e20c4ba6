//! Bounds of the elements of a value. They can differ along an axis.

use super::{Interval, around_all};
use strait_core::Shape;
use strait_requantize::Per;

/// Bounds of the elements of a value: one interval for all of them, or one for each index along an axis. The number of
/// intervals is the extent of that axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    bounds: Per<Interval>,
    /// The axis along which there is an interval for each index. `None` if there is one interval for all elements.
    axis: Option<usize>,
}

impl Reach {
    /// One interval for all elements.
    pub(crate) fn tensor(interval: Interval) -> Reach {
        Reach {
            bounds: Per::Tensor(interval),
            axis: None,
        }
    }

    /// Makes bounds with one interval for each index along the axis `axis` of a value. Returns `None` if the number of
    /// intervals is not the extent of this axis.
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

    /// The axis along which there is one interval for each index, if there is one.
    pub(crate) fn axis(&self) -> Option<usize> {
        self.axis
    }

    /// The smallest interval that contains all elements.
    pub(crate) fn hull(&self) -> Option<Interval> {
        around_all(&self.bounds)
    }

    /// The bounds of the value after `f` is applied to each element.
    pub(crate) fn map(&self, f: impl FnMut(&Interval) -> Interval) -> Reach {
        Reach {
            bounds: self.bounds.map(f),
            axis: self.axis,
        }
    }

    /// The bounds, if they lie along `axis`. Otherwise one interval that contains all elements.
    pub(crate) fn only_along(&self, axis: Option<usize>) -> Option<Reach> {
        if self.axis == axis {
            return Some(self.clone());
        }
        self.hull().map(Reach::tensor)
    }
}
