//! Flattens a tensor to two axes.

use super::prelude::*;

op! {
    /// The same elements with the shape [d0·…·d(axis−1), d(axis)·…], where d0, d1, … are the operand's extents.
    Flatten = "flatten" v 1: Rearranges, 1 {
        /// The first of the axes that become the second axis of the result; a negative one counts from the end.
        axis: i64,
    }
}

impl OpFacts for Flatten {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let rank = x.shape.len();
        let axis = if self.axis == rank as i64 {
            rank
        } else {
            support::axis(self.axis, rank)?
        };
        support::one(
            x.elem,
            smallvec![support::product(&x.shape[..axis])?, support::product(&x.shape[axis..])?],
        )
    }
}
