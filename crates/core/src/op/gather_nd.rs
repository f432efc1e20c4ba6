//! Picks slices by several coordinates.

use super::prelude::*;

op! {
    /// Takes slices of `x` at the coordinates in `indices` (i64; negative ones count from the end).
    ///
    /// The first `batch` axes of both operands are the same, and slices are picked separately for each batch entry. The
    /// last axis of `indices` has the coordinates for the following axes of `x`. The result has the shape of `indices`
    /// without its last axis, followed by the axes of `x` that have no coordinate.
    GatherNd = "gather_nd" v 1: Moves, 2 {
        /// Number of batch axes that both operands share.
        batch: u32,
    }
}

impl OpFacts for GatherNd {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, indices) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        let batch = self.batch as usize;
        let (Some(Some(coordinates)), Elem::I64) = (indices.shape.last().map(|dim| dim.fixed()), indices.elem) else {
            let text = format!("indices of {indices} have no coordinates");
            return Err(Reason::new(ReasonCode::Gather, text));
        };
        let named = usize::try_from(coordinates).ok().and_then(|n| n.checked_add(batch));
        let named = named.filter(|&named| named <= x.shape.len() && batch < indices.shape.len());
        let Some(named) = named.filter(|_| support::may_equal(&x.shape[..batch], &indices.shape[..batch])) else {
            let text = format!("{indices} has no coordinates of {x} behind {batch} axes that they share");
            return Err(Reason::new(ReasonCode::Gather, text));
        };
        let parts = [&indices.shape[..indices.shape.len() - 1], &x.shape[named..]];
        support::one(x.elem, parts.concat().into())
    }
}
