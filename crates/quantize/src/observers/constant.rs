//! An observer that always gives scale 1.

use super::{GridKind, Observer, ValueStatistics};
use strait_core::Reason;

/// The range that the codes cover at scale 1. It does not depend on the statistics. This observer is meant for small
/// floats, whose codes have an exponent and therefore cover a wide range at any scale. Numbers beyond the largest code
/// saturate.
///
/// **Source.** PPQ's constant observer, which PPQ also supports only for floating-point formats.
///
/// **Precondition.** The codes are small floats. For integers, a fixed scale of 1 makes no sense.
#[derive(Clone, Copy, Debug)]
pub struct Constant;

impl Observer for Constant {
    fn range(&self, _: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        Ok(grid.ends().map(|end| end as f32))
    }
}
