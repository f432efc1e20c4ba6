//! Scale 1.

use super::{GridKind, Observer, ValueStatistics};
use strait_core::Reason;

/// The range that the codes cover at scale 1, whatever was seen. It is for small floats, which have an exponent of
/// their own. Numbers beyond the largest value saturate.
///
/// **Source.** PPQ's constant observer, which is only for floating-point formats.
///
/// **Precondition.** Codes that are small floats. For integers a fixed scale of 1 makes no sense.
#[derive(Clone, Copy, Debug)]
pub struct Constant;

impl Observer for Constant {
    fn range(&self, _: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        Ok(grid.ends().map(|end| end as f32))
    }
}
