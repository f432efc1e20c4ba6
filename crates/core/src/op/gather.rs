//! Picks positions along one axis.

use super::prelude::*;

op! {
    /// Takes slices of `x` along `axis`, at the positions in `indices` (i64; negative ones count from the end). The
    /// result has the shape of `x`, with `axis` replaced by the shape of `indices`.
    Gather = "gather" v 1: Moves, 2 {
        /// The axis; a negative one counts from the end.
        axis: i64,
    }
}

impl OpFacts for Gather {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (x, indices) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        support::ensure(indices.elem == Elem::I64, ReasonCode::Gather, || {
            format!("the indices are {}, not i64", indices.elem)
        })?;
        let axis = support::axis(self.axis, x.shape.len())?;
        let parts = [&x.shape[..axis], &indices.shape[..], &x.shape[axis + 1..]];
        support::one(x.elem, parts.concat().into())
    }
}
