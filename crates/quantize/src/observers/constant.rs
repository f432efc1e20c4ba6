//! Scale 1.

use super::{GridKind, Observer, Seen};
use strait_core::Reason;

/// The range that the codes cover at scale 1, whatever was seen: a small float has an exponent of its own, and what lies
/// beyond its largest value saturates.
///
/// **Source.** PPQ's constant observer, which serves floating policies alone.
///
/// **Precondition.** Codes that are small floats; a scale of 1 says nothing of integers.
#[derive(Clone, Copy, Debug)]
pub struct Constant;

impl Observer for Constant {
    fn range(&self, _: Seen<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        Ok(grid.ends().map(|end| end as f32))
    }
}
