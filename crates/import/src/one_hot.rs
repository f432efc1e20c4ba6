//! One-hot encoding with booleans.

use strait_core::Elem;
use strait_core::op::Relation;

use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

impl Layer<'_, '_> {
    /// Adds an axis of `depth` booleans. For each element of `positions`, one boolean along the new axis is true: the
    /// one at the position that the element states. All others are false. If the position is beyond the new axis, all
    /// are false.
    ///
    /// # Errors
    /// The axis does not exist, or there are too many elements.
    pub fn is_at(&mut self, positions: &Arg, axis: i64, depth: i64) -> Result<Arg, Refusal> {
        let rank = self.arg_type(positions)?.shape.len() + 1;
        let axis = self.axis(axis, rank)?;
        let positions = self.converted(positions, Elem::I64)?;
        let positions = self.unsqueezed(&positions, &[axis as i64])?;
        let mut shape = vec![1; rank];
        shape[axis] = depth.unsigned_abs();
        let counted = self.counted(&shape, depth)?;
        self.compare(Relation::Equal, &positions, &counted)
    }
}
