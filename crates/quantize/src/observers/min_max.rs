//! The observer of the minimum and maximum.

use super::{GridKind, Observer, ValueStatistics, extremes};
use strait_core::Reason;

/// The range from the smallest to the largest element that was seen. Nothing in the calibration data is clipped, but a
/// single outlier makes every step larger.
#[derive(Clone, Copy, Debug)]
pub struct MinMax;

impl Observer for MinMax {
    fn range(&self, seen: ValueStatistics<'_>, _: GridKind) -> Result<[f32; 2], Reason> {
        extremes(seen.elements)
    }
}
