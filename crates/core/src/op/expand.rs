//! Repeats a tensor along axes.

use super::prelude::*;

op! {
    /// Broadcasts the operand to `shape`. The operand is repeated along its axes of extent 1, and along new axes in
    /// front. Where `shape` has an extent of 1, the operand's axis does not change. A second operand (i64, one number
    /// for each axis) can give the shape at run time. The attribute `shape` then has the extents that are already
    /// known.
    Expand = "expand" v 1: Moves, 1 to 2 {
        /// The extents, outermost first. If there is a second operand, −1 stands for an unknown extent.
        shape: SmallVec<[i64; 8]>,
    }
}

impl OpFacts for Expand {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let is_late = support::late_list(operands, 1, self.shape.len())?;
        let extent = |&extent: &i64| match extent {
            -1 if is_late => Some(Dim::OPEN),
            _ => u64::try_from(extent).map(Dim::Fixed).ok(),
        };
        let shape: Option<Shape> = self.shape.iter().map(extent).collect();
        let shape = shape.ok_or_else(|| {
            Reason::new(
                ReasonCode::Reshape,
                format!("the shape {:?} has a negative extent", self.shape),
            )
        })?;
        support::one(x.elem, support::broadcast(&x.shape, &shape)?)
    }
}
