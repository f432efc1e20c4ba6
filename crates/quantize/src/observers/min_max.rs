//! The extremes themselves.

use super::{GridKind, Observer, Seen, extremes};
use strait_core::Reason;

/// [smallest, largest] element seen. Nothing clips on the calibration data; one outlier widens every step.
#[derive(Clone, Copy, Debug)]
pub struct MinMax;

impl Observer for MinMax {
    fn range(&self, seen: Seen<'_>, _: GridKind) -> Result<[f32; 2], Reason> {
        extremes(seen.elements)
    }
}
