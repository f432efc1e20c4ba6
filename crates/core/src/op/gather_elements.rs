//! Picks one element for each index.

use super::prelude::*;

op! {
    /// Takes one element of `x` for each index in `indices` (i64; negative ones count from the end). The element has
    /// the same coordinates as the index, except along `axis`, where its coordinate is the value of the index. The
    /// result has the shape of `indices`. `indices` has the rank of `x`, and is not longer than `x` along any axis
    /// except `axis`.
    GatherElements = "gather_elements" v 1: Moves, 2 {
        /// The axis; a negative one counts from the end.
        axis: i64,
    }
}

impl OpFacts for GatherElements {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, indices) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        support::ensure(indices.elem == Elem::I64, ReasonCode::Gather, || {
            format!("the indices are {}, not i64", indices.elem)
        })?;
        let axis = support::axis(self.axis, x.shape.len())?;
        support::within(&x.shape, &indices.shape, axis)?;
        support::one(x.elem, indices.shape.iter().copied().collect::<SmallVec<[Dim; 4]>>())
    }
}
